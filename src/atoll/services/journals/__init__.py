"""The event log, and the collection of runtimes' journals into it."""
