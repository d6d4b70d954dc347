import MagicString from 'magic-string';
import { parseAst } from 'rollup/parseAst';
import type { Options } from 'tsup';

/**
 * Marks what makes the constants of a module, so that a bundler of a user drops those whose constant is not used. The
 * `sideEffects` of package.json promises the same, but of whole files, and the build joins many modules in one.
 */

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
 * The plugin. It works on what esbuild wrote, not on what it reads: with blanks, esbuild removes such marks.
 *
 * A mark is heeded only where all arguments of the call are without effect, and bundlers take a spread, a member or a
 * sum for something that may have one. So a constant with any of these becomes the result of a marked call without
 * arguments, which bundlers write as it was where the constant is used.
 */
export function pureCalls(): NonNullable<Options['plugins']>[number] {
  return {
    name: 'pure-calls',
    renderChunk(code) {
      const text = new MagicString(code);
      // The first line of a program is no syntax.
      for (const statement of parseAst(code.replace(/^#!/, '//')).body) {
        if (statement.type !== 'VariableDeclaration') continue;
        for (const { init } of statement.declarations) {
          if (!isNode(init)) continue;
          if (isDropped(init)) for (const start of new Set(callsOf(init))) text.prependRight(start, MARK);
          else text.prependRight(init.start, `${MARK}(()=>(`).appendLeft(init.end, '))()');
        }
      }
      // webpack stops at an optional import of unpdf's own, so it leaves this one to Node. esbuild drops such comments, too.
      return { code: text.toString().replace('import("unpdf")', 'import(/*webpackIgnore:true*/"unpdf")'), map: null };
    },
  };
}

/** True for an expression that bundlers drop by themselves, or would if its calls were marked. */
function isDropped(node: Node): boolean {
  if (LATER.test(node.type) || node.type === 'Identifier' || node.type === 'Literal') return true;
  const parts = Object.values(node).flat().filter(isNode);
  if (CALLS.has(node.type)) return 'arguments' in node && [node.arguments].flat().filter(isNode).every(isDropped);
  if (node.type === 'ArrayExpression') return parts.every(isDropped);
  if (node.type === 'ObjectExpression')
    return parts.every(
      (part) => part.type === 'Property' && !isComputed(part) && Object.values(part).filter(isNode).every(isDropped),
    );
  return node.type === 'TemplateLiteral' && 'expressions' in node && [node.expressions].flat().length === 0;
}

function isComputed(property: Node): boolean {
  return 'computed' in property && property.computed === true;
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
