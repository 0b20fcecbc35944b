"""Who is told of what Rekindle sees, asks and does: read off the trail, gathered, worded, shaped and sent."""
