// Package grammar does constrained decoding: it holds what a language model writes to a JSON Schema, token by token. It
// knows no inference engine, only a [Vocabulary] and logits.
//
// A schema takes three steps to a mask:
//
//  1. It is compiled to an automaton over bytes, whose rules may call each other (schema.go, with number.go and text.go
//     for what has limits and patterns; automaton.go). Every text of the automaton is valid under the schema, though
//     not every valid text is one of the automaton's: there is one order of properties, and next to no white space.
//  2. A reply is followed through the automaton byte by byte, as a set of positions with the calls that they are
//     inside (grammar.go). No position is taken from which there is no way to an end, so that a reply never gets stuck.
//  3. The vocabulary is a trie over the bytes of its tokens (vocabulary.go). The tokens that may come next are found by
//     walking that trie and the automaton together; what comes out is kept as a bit mask for the next time
//     (constraint.go).
//
// A program that decodes has a [Constrainer] for each vocabulary and a [Constraint] for each reply:
//
//	constrainer := grammar.New(vocabulary)
//	c, err := constrainer.Constraint([]byte(`{"enum": ["yes", "no"]}`))
//	if err != nil {
//		return err // it names the keyword that is not supported
//	}
//	for !c.Ended() {
//		logits := model.Next(reply)
//		token := argmax(logits)
//		if !c.Allows(token) { // most tokens that a model prefers fit, so the mask is seldom needed
//			c.Mask(logits)
//			token = argmax(logits)
//		}
//		c.Accept(token)
//		reply = append(reply, token)
//		for _, token := range c.Forced() { // what the schema leaves no choice about needs no model
//			c.Accept(token)
//			reply = append(reply, token)
//		}
//	}
package grammar
