/** A query within the limits of an engine, cut between two words. */
export function shortQuery(query: string, maxLength: number, maxWords = Infinity): string {
  const words = query.split(' ');
  const few = words.length > maxWords ? words.slice(0, maxWords).join(' ') : query;
  if (few.length <= maxLength) return few;
  const cut = few.slice(0, maxLength + 1);
  const space = cut.lastIndexOf(' ');
  return space > 0 ? cut.slice(0, space) : few.slice(0, maxLength);
}
