import MagicString from 'magic-string';
import { parseAst } from 'rollup/parseAst';
import type { Options } from 'tsup';

/** What this needs of a syntax tree. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** A call where a module is evaluated runs with the program; one in any of these runs when somebody calls it. */
const LATER = /Function|Class/;
const CALLS: ReadonlySet<string> = new Set(['CallExpression', 'NewExpression']);
const MARK = '/*@__PURE__*/';

/**
 * Marks the calls that make the constants of a module, so that a bundler of a user drops those whose constant is not
 * used. The `sideEffects` of package.json promises the same, but of whole files, and the build joins many modules in one.
 * In what esbuild wrote, not in what it reads: with blanks, esbuild removes such marks.
 */
export function pureCalls(): NonNullable<Options['plugins']>[number] {
  return {
    name: 'pure-calls',
    renderChunk(code) {
      const text = new MagicString(code);
      // The first line of a program is no syntax.
      for (const statement of parseAst(code.replace(/^#!/, '//')).body) {
        if (statement.type !== 'VariableDeclaration') continue;
        for (const start of new Set(callsOf(statement))) text.prependRight(start, MARK);
      }
      // webpack stops at an optional import of unpdf's own, so it leaves this one to Node. esbuild drops such comments, too.
      return { code: text.toString().replace('import("unpdf")', 'import(/*webpackIgnore:true*/"unpdf")'), map: null };
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
