/** Finds the passages of a text that ask a question. */
import type { Passage } from './passages.ts';

/** The question in a text of many passages: those at its edges with a question, or what says that it is one. */
const QUESTION_MARK = /[?？؟]/;
const QUESTION_LABEL =
  /^[\s#*]{0,6}(?:question|query|task|frage|aufgabe|pregunta|domanda|pergunta|вопрос|问题|問題|質問)[\s*]{0,3}[:：]/i;
/** Passages at each end of a text that are looked at for a question. */
const EDGE = 2;
/** Characters of a passage at an end that may be the question, without a question mark. */
const SHORT = 400;

/** Places of the passages of a text that ask something. */
export function questionPlaces(text: string, passages: readonly Passage[]): readonly number[] {
  const textOfPlace = (place: number): string => {
    const { from = 0, to = 0 } = passages[place] ?? {};
    return text.slice(from, to).trim();
  };
  const places = [...passages.keys()];
  const labelled = places.filter((place) => QUESTION_LABEL.test(textOfPlace(place)));
  const [lastLabelled] = labelled.slice(-1);
  if (lastLabelled !== undefined) return [lastLabelled];
  const edges = [...new Set([...places.slice(-EDGE).toReversed(), ...places.slice(0, EDGE)])];
  const asking = edges.filter((place) => QUESTION_MARK.test(textOfPlace(place)));
  if (asking.length > 0) return asking;
  return [places.length - 1, 0].filter((place) => textOfPlace(place).length <= SHORT);
}
