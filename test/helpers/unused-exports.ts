import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'
import type { Source } from './source-rules.js'

/** What callers of the package import. */
const ENTRIES: readonly string[] = ['src/index.ts', 'src/contracts/index.ts', 'simulator/src/index.ts']

/** In the comment of an export that no other file imports: tests need it, and reach it in no other way. */
const MARK = '@testonly'

/**
 * Exports of `src/` and `simulator/src/` that no other of these files imports, `scripts/` and `bench/` included. A file that
 * is imported whole (`import *`, `export *`, `import()`) uses all of them.
 */
export function unusedExports(sources: readonly Source[]): string[] {
  const files = sources.map(source => ({ path: source.path, file: parse(source) }))
  const used = new Set(files.flatMap(({ path, file }) => usesOf(path, file)))
  return files
    .filter(
      ({ path }) => /^(simulator\/)?src\//.test(path) && !path.endsWith('.generated.ts') && !ENTRIES.includes(path),
    )
    .flatMap(({ path, file }) =>
      exportsOf(file)
        .filter(name => !used.has(`${path} ${name}`) && !used.has(`${path} *`))
        .map(name => `${path}: ${name}`),
    )
}

/** `file name` of all that a file imports or exports again, or `file *`. */
function usesOf(path: string, file: ts.SourceFile): readonly string[] {
  const found: string[] = []
  const use = (module: ts.Node | undefined, names: readonly string[]): void => {
    if (module === undefined || !ts.isStringLiteralLike(module) || !module.text.startsWith('.')) return
    const target = normalize(join(dirname(path), module.text)).replace(/^(simulator\/)?dist\//, '$1src/')
    found.push(...names.map(name => `${target.replace(/\.js$/, '.ts')} ${name}`))
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) use(node.moduleSpecifier, namesIn(node.importClause?.namedBindings))
    else if (ts.isExportDeclaration(node)) use(node.moduleSpecifier, namesIn(node.exportClause))
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) use(node.argument.literal, ['*'])
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      use(node.arguments[0], ['*'])
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

/** All of a module where it is bound as a whole. */
function namesIn(bindings: ts.NamedImportBindings | ts.NamedExportBindings | undefined): readonly string[] {
  if (bindings === undefined || !('elements' in bindings)) return ['*']
  return bindings.elements.map(({ propertyName, name }) => (propertyName ?? name).text)
}

function exportsOf(file: ts.SourceFile): readonly string[] {
  return file.statements.flatMap(statement => {
    if (file.text.slice(statement.pos, statement.getStart(file)).includes(MARK)) return []
    if (ts.isExportDeclaration(statement)) {
      const clause = statement.exportClause
      return clause !== undefined && ts.isNamedExports(clause) ? clause.elements.map(({ name }) => name.text) : []
    }
    const isExported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true
    if (!isExported) return []
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map(one => one.name.getText(file))
    return 'name' in statement ? [(statement.name as ts.Identifier).text] : []
  })
}

function parse({ path, text }: Source): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
}
