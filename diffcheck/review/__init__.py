"""The page to review a decision by: HTML in one file, or Markdown. Needs neither a GPU nor the native module."""
