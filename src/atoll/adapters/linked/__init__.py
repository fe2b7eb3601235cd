"""Extensions whose sandboxes are on other machines: the runtime stays here, a link leads there."""
