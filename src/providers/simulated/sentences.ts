/** Sentences of answers. `{a}` and `{b}` stand for two topics of the question. */
export const OPENINGS = [
  'Let us look at {a} step by step.',
  'There is more than one way to think about {a}.',
  'In short, the subject of {a} deserves a closer look.',
  'The short version first: with {a}, most of the work is in asking the right question.',
  'When people ask about {a}, they usually want to know where to begin.',
] as const;

/** Says once that nobody real has answered. */
export const NOTICE = 'This answer is simulated: no model was asked, so please take nothing in it as fact.';

export const BODY = [
  'When it comes to {a}, the first thing to settle is what a good outcome would look like.',
  'Many begin with {a} and only later notice how much depends on {b}.',
  'An example says more than a definition: take {a}, change one thing at a time, and watch what follows.',
  'There is a difference between {a} in theory and {a} on an ordinary Tuesday.',
  'It helps to write down what is already known about {a} before asking for more.',
  'With regard to {a}, the usual advice holds: start small, measure, and keep what works.',
  'The costs of {a} are easy to see, while the benefits tend to arrive late and quietly.',
  'Two things are often confused here, namely {a} and {b}.',
  'Should {a} and {b} pull in different directions, the simpler of the two deserves the first try.',
  'None of this has to be perfect, as long as anything decided about {a} can be changed later.',
  'A second opinion on {a} is worth more than a third reading of the same page.',
  'Those who have dealt with {a} for years tend to say that the details matter less than the order of the decisions.',
  'In practice the subject of {a} comes up again and again, so a short checklist pays for itself within a week.',
  'The most common mistake with {a} is to treat as one question what is really three.',
  'Compared with {b}, the matter of {a} is forgiving: most wrong turns can be undone in an afternoon.',
  'What makes {a} interesting is that small changes have effects far away from where they were made.',
  'It would be fair to say that work on {a} rewards patience more than cleverness.',
  'Where the facts about {a} run out, a clearly stated assumption is better than a confident guess.',
  'With {a} out of the way, the rest of the question becomes mostly a matter of arithmetic.',
  'Seen from a distance, the matter of {a} is less a problem than a choice between several decent options.',
  'Nobody can plan for everything, but with {a} a little preparation goes a long way.',
  'A note on {b}: this changes the picture less than one would expect, at least at the beginning.',
  'The numbers around {a} look impressive, and yet the plain cases are the ones that decide.',
  'If only one thing is remembered about {a}, it should be that nothing here stands alone.',
] as const;

export const CLOSINGS = [
  'If you say a little more about {a}, the answer can become more specific.',
  'That should be a usable starting point for {a}.',
  'A reasonable next step would be to try this out on one small case of {a}.',
  'From here, the best way to learn about {a} is to look at a concrete case.',
] as const;

export const THOUGHTS = [
  'The question is about {a}, so first it has to be clear what is really being asked.',
  'There are several ways to read {a}; the plainest one is probably meant.',
  'It may matter how {a} and {b} hang together.',
  'An example could make {a} clearer than a definition would.',
  'The conversation so far says nothing that contradicts this.',
  'It would be wrong to promise too much about {a}.',
  'Another approach would be to start from {b} and work backwards.',
  'Comparing the two approaches, the first one needs fewer assumptions about {a}.',
  'The length of the answer should fit the length of the question.',
  'One more check of {a} against {b}: nothing speaks against it.',
  'So the answer begins with {a}, says what is known, and leaves the rest open.',
] as const;

/** Topics for questions that have none of their own. */
export const COMMON_TOPICS = ['the question', 'the context', 'the details'] as const;
