"""Pages, drawings and exported code of learned teams."""
