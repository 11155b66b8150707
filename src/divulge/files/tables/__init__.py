"""Tables: one reader for text, workbooks, columnar files, frames in memory and folders."""
