"""A file system of Hadoop on a folder of this machine, for tests of addresses."""

from pathlib import Path
from typing import Any


def mounted(spark: Any, folder: Path) -> None:
    """Let a folder of this machine be lake://bucket/top, by way of a file system of Hadoop with another scheme."""
    settings = spark._jsc.hadoopConfiguration()
    for name, value in {
        "fs.lake.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
        "fs.lake.impl.disable.cache": "true",
        "fs.viewfs.overload.scheme.target.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        "fs.viewfs.mounttable.bucket.link./top": folder.as_uri(),
    }.items():
        settings.set(name, value)
