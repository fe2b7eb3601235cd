"""What holds for every test of a service."""

from tests.peers.event_schemas import events_fit_their_schemas as events_fit_their_schemas
