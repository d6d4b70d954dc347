/**
 * Commands of LaTeX that begin like an escape of JSON: `\nabla` like a line break, `\theta` like a tab, `\rho` like a
 * carriage return. Commands with `\b` and `\f` need no list, because nobody means a backspace or a form feed.
 */
const COMMANDS = new Set(
  (
    'nabla neq neg newline newcommand ngeq nleq nmid not notag notin nsubseteq nparallel natural nearrow nonumber ' +
    'noindent nolimits nexists norm ' +
    'rangle rbrace rbrack rceil rfloor rho right rightarrow rightharpoonup rightleftharpoons rm root rVert rvert ' +
    'rtimes raisebox ref renewcommand rlap ' +
    'tan tanh tau tbinom text textbf textit textrm texttt textsf textup textstyle textcolor textbackslash tfrac ' +
    'therefore theta thickapprox thicksim tilde times top triangle triangleq triangleleft triangleright ' +
    'twoheadrightarrow'
  ).split(' '),
);

/** Short ones, which a word of a language behind a line break could be just as well. */
const SHORT_COMMANDS = new Set(['nu', 'ne', 'ni', 'to', 'tt', 'tag', 'num']);

/** A backslash with a word that no escape of JSON begins with: the text writes its backslashes singly. */
const OTHER_COMMAND = /(?<!\\)\\[ac-eg-mo-qsv-zA-Z][a-zA-Z]/;

/** True for a text with commands of LaTeX that cannot be escapes. */
export function writesLatex(source: string): boolean {
  return OTHER_COMMAND.test(source);
}

/** True when the word behind a backslash is a command of LaTeX rather than an escape and a word. */
export function isLatexCommand(word: string, latex: boolean): boolean {
  return COMMANDS.has(word) || (latex && SHORT_COMMANDS.has(word));
}
