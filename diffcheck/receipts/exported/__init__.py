"""Our receipts in other tools' formats. What has no field there is left out: an export proves less than its source."""
