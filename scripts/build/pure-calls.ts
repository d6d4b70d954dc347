import type { Plugin } from 'rolldown';

/** What this needs of a syntax tree. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** A call where a module is evaluated runs with the program; one in any of these runs when somebody calls it. */
const LATER = /Function|Class/;
const CALLS: ReadonlySet<string> = new Set(['CallExpression', 'NewExpression']);
const MARK = '/* @__PURE__ */ ';

/**
 * Marks the calls that make the constants of a module, so that a bundler of a user drops those whose constant is not
 * used. The `sideEffects` of package.json promises the same, but of whole files, and the build joins many modules in one.
 */
export function pureCalls(): Plugin {
  return {
    name: 'pure-calls',
    transform: {
      filter: { id: /\/(?:src|adapters)\/.*\.ts$/ },
      handler(code, _id, { magicString }) {
        if (magicString === undefined) throw new Error('this plugin needs `experimental.nativeMagicString`');
        for (const statement of this.parse(code, { lang: 'ts' }).body) {
          const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
          if (declared?.type !== 'VariableDeclaration') continue;
          for (const start of callsOf(declared)) magicString.prependRight(start, MARK);
        }
        return { code: magicString };
      },
    },
  };
}

function* callsOf(node: unknown): Generator<number> {
  if (Array.isArray(node)) for (const one of node) yield* callsOf(one);
  if (!isNode(node) || LATER.test(node.type)) return;
  if (CALLS.has(node.type)) yield node.start;
  for (const value of Object.values(node)) if (typeof value === 'object') yield* callsOf(value);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
