"""Workers: agents that a program drives, their hosts, and the machines that people link."""
