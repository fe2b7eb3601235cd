"""Workers: a durable ledger of requests and a bounded spool of events beside an agent's pipe."""
