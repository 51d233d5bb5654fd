"""What tests of a RAG look like: ask() stands for yours. Try it with `pytest examples/pytest`."""

PASSAGES = ["The museum of Ellery is open from ten to six, and closed on Mondays. Children under twelve pay nothing."]


def ask(question):
    return PASSAGES, "The museum is open from ten to six, and closed on Mondays."


def test_opening_hours(assay):
    question = "When is the museum of Ellery open?"
    passages, answer = ask(question)
    assert "Mondays" in answer
    assay(question=question, contexts=passages, answer=answer, at_least={"faithfulness/k_precision": 0.9})
