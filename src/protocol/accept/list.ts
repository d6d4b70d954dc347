import { type ListLimits, below, hasMajor, wrongKind } from './form.ts';
import { tooBig, tooSmall } from './scalars.ts';
import { REFUSED, type Schema } from './schema.ts';

/** A list of values of one kind. Of one that is too long no item is looked at. */
export function list<Item>(item: Schema<Item>, limits: ListLimits = {}): Schema<Item[]> {
  const { least = 0, most = Infinity, says } = limits;
  return {
    form: { kind: 'list', item, ...limits },
    isOptional: false,
    accept: (value) => {
      if (!Array.isArray(value) || value.length < least || value.length > most) return REFUSED;
      let items = value as Item[];
      for (let index = 0; index < value.length; index += 1) {
        const accepted = item.accept(value[index]);
        if (accepted === REFUSED) return REFUSED;
        if (accepted === value[index]) continue;
        if (items === value) items = [...items];
        items[index] = accepted;
      }
      return items;
    },
    parse: (value, issues) => {
      if (!Array.isArray(value)) {
        wrongKind('array', issues);
        return [];
      }
      if (value.length > most) {
        issues.push({ ...tooBig('array', most, says), isMinor: false });
        return [];
      }
      const start = issues.length;
      const items: Item[] = [];
      for (let index = 0; index < value.length; index += 1) {
        // One wrong item among many costs no more than the reading of that one.
        const accepted = item.accept(value[index]);
        if (accepted !== REFUSED) {
          items.push(accepted);
          continue;
        }
        const from = issues.length;
        items.push(item.parse(value[index], issues));
        if (issues.length === from) continue;
        below(index, issues, from);
        if (hasMajor(issues, from)) return items;
      }
      if (issues.length === start && items.length < least) issues.push(tooSmall('array', least));
      return items;
    },
  };
}
