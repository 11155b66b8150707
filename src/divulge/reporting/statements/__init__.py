"""The statement for the public: sentences by name, a page, and the codebook beside it."""
