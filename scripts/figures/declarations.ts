/** Reads the functions and exported names of the sources, by the compiler's syntax trees. */
import { fileURLToPath } from 'node:url';
import {
  type ArrowFunction,
  type ConstructorDeclaration,
  type FunctionDeclaration,
  type FunctionExpression,
  type GetAccessorDeclaration,
  type MethodDeclaration,
  type Node,
  type ParameterDeclaration,
  type SetAccessorDeclaration,
  type SourceFile,
  SyntaxKind,
} from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';
import { API } from 'typescript/unstable/sync';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A function, a method or a constructor of the sources. */
export interface WrittenFunction {
  /** File and line, as editors open it. */
  readonly place: string;
  readonly name: string;
  readonly lines: number;
  readonly parameters: number;
  /** Names of the parameters that are true or false. */
  readonly booleans: readonly string[];
  /** Callable from other files: exported itself, or a member of an exported class that is not private. */
  readonly isExported: boolean;
}

/** What the sources declare. */
export interface Declarations {
  readonly functions: readonly WrittenFunction[];
  /** Files that declare and export a name, for each name. */
  readonly exported: ReadonlyMap<string, readonly string[]>;
}

/** Parses files of the project, given by their paths from its root. */
export function declarationsIn(paths: readonly string[]): Declarations {
  const api = new API({ cwd: ROOT });
  try {
    const [project] = api.updateSnapshot({ openProjects: [`${ROOT}tsconfig.build.json`] }).getProjects();
    const functions: WrittenFunction[] = [];
    const exported = new Map<string, Set<string>>();
    for (const path of paths) {
      const source = project?.program.getSourceFile(ROOT + path);
      if (source === undefined) throw new Error(`The compiler has no ${path}.`);
      functions.push(...functionsIn(source, path));
      for (const name of exportedNames(source)) exported.set(name, (exported.get(name) ?? new Set()).add(path));
    }
    return { functions, exported: new Map([...exported].map(([name, files]) => [name, [...files]])) };
  } finally {
    api.close();
  }
}

type FunctionNode =
  | FunctionDeclaration
  | FunctionExpression
  | ArrowFunction
  | MethodDeclaration
  | ConstructorDeclaration
  | GetAccessorDeclaration
  | SetAccessorDeclaration;

function functionsIn(source: SourceFile, path: string): readonly WrittenFunction[] {
  const found: WrittenFunction[] = [];
  const visit = (node: Node, isExported: boolean): undefined => {
    if (isFunction(node) && node.body !== undefined) {
      const line = lineAt(source.text, node.getStart(source));
      found.push({
        place: `${path}:${line}`,
        name: is.isConstructorDeclaration(node) ? 'constructor' : textOf(source, nameNode(node)),
        lines: lineAt(source.text, node.end) - line + 1,
        parameters: node.parameters.length,
        booleans: node.parameters.filter(isBoolean).map(({ name }) => textOf(source, name)),
        isExported: isExported && !isPrivate(node),
      });
    }
    // What is inside of a function is reached through it alone.
    const passesOn = PASS_ON.some((isOne) => isOne(node));
    const reached = isModified(node, SyntaxKind.ExportKeyword) || (isExported && passesOn);
    node.forEachChild((child) =>
      visit(child, is.isFunctionDeclaration(child) ? isModified(child, SyntaxKind.ExportKeyword) : reached),
    );
  };
  visit(source, false);
  return found;
}

/** What is exported with the statement around it. */
const PASS_ON = [is.isVariableStatement, is.isVariableDeclarationList, is.isVariableDeclaration, is.isClassDeclaration];

function exportedNames(source: SourceFile): ReadonlySet<string> {
  const names = source.statements.flatMap((statement) => {
    if (!isModified(statement, SyntaxKind.ExportKeyword)) return [];
    if (is.isVariableStatement(statement))
      return statement.declarationList.declarations.map(({ name }) => textOf(source, name));
    return DECLARATIONS.some((isOne) => isOne(statement)) ? [textOf(source, nameNode(statement))] : [];
  });
  return new Set(names);
}

const DECLARATIONS = [
  is.isFunctionDeclaration,
  is.isClassDeclaration,
  is.isInterfaceDeclaration,
  is.isTypeAliasDeclaration,
  is.isEnumDeclaration,
];

function isFunction(node: Node): node is FunctionNode {
  return (
    is.isFunctionDeclaration(node) ||
    is.isFunctionExpression(node) ||
    is.isArrowFunction(node) ||
    is.isMethodDeclaration(node) ||
    is.isConstructorDeclaration(node) ||
    is.isGetAccessorDeclaration(node) ||
    is.isSetAccessorDeclaration(node)
  );
}

/** Whether a parameter is declared as true or false, or has one of them as its default. */
function isBoolean({ type, initializer }: ParameterDeclaration): boolean {
  if (initializer?.kind === SyntaxKind.TrueKeyword || initializer?.kind === SyntaxKind.FalseKeyword) return true;
  if (type === undefined) return false;
  if (!is.isUnionTypeNode(type)) return type.kind === SyntaxKind.BooleanKeyword;
  const others = type.types.filter(({ kind }) => kind !== SyntaxKind.UndefinedKeyword);
  return others.length === 1 && others[0]?.kind === SyntaxKind.BooleanKeyword;
}

function isModified(node: Node, modifier: SyntaxKind): boolean {
  return (
    'modifiers' in node && Array.isArray(node.modifiers) && node.modifiers.some(({ kind }: Node) => kind === modifier)
  );
}

function isPrivate(node: Node): boolean {
  const name = nameNode(node);
  return isModified(node, SyntaxKind.PrivateKeyword) || (name !== undefined && is.isPrivateIdentifier(name));
}

/** The name of a declaration, or of the constant that a function is given to. */
function nameNode(node: Node): Node | undefined {
  const named = is.isArrowFunction(node) || is.isFunctionExpression(node) ? node.parent : node;
  return 'name' in named ? (named.name as Node | undefined) : undefined;
}

function textOf(source: SourceFile, node: Node | undefined): string {
  return node === undefined ? '(anonymous)' : source.text.slice(node.getStart(source), node.end);
}

function lineAt(text: string, position: number): number {
  return text.slice(0, position).split('\n').length;
}
