"""Push subscriptions of people, and the delivery of notifications to them."""
