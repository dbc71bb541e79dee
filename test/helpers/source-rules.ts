import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import ts from 'typescript'

/** A source file, by its path from the package root (`src/kernel/call.ts`). */
export interface Source {
  readonly path: string
  readonly text: string
}

export interface Import {
  readonly specifier: string
  /** A path from the package root, for relative imports. */
  readonly file: string | undefined
}

/**
 * What each folder of src may import: what is to its right in docs/architecture.md, and never a sibling. The simulator is
 * a package of its own: it imports none of these, and they import it by its name alone.
 */
const LAYERS: readonly (readonly string[])[] = [
  ['bin'],
  ['index', 'contracts'],
  ['cli'],
  ['runtime'],
  ['admin'],
  ['config', 'plan', 'features'],
  ['kernel'],
  ['translate'],
  ['credentials'],
  ['codecs', 'wire', 'net', 'stores', 'sinks'],
  ['transport'],
  ['core'],
]

/**
 * Features that build upon others, each with those whose files it may import; all others know nothing of each other. A feature
 * shares facts of a request by a slot in the kernel, and services by a key of its own. This list only shrinks: a new feature uses
 * those two.
 */
export const FEATURE_USES: Readonly<Record<string, readonly string[]>> = {
  batches: ['members'],
  canaries: ['health'],
  checks: ['identity'],
  'client-secrets': ['identity', 'keys'],
  completions: ['responses'],
  console: ['log', 'tail'],
  generations: ['health', 'identity', 'keys'],
  identity: ['keys'],
  limits: ['batches'],
  mirrors: ['responses'],
  resources: ['batches'],
  responses: ['members', 'resources'],
  strategies: ['canaries', 'fallbacks', 'responses'],
  tail: ['log'],
  tasks: ['links', 'members'],
  traces: ['metrics'],
  tunnels: ['client-secrets'],
}

/** Folders beside the features that are none: what sends to collectors, and what masks captured content. */
const SHARED_BY_FEATURES: ReadonlySet<string> = new Set(['content', 'otlp'])

/** The one door of each npm package. */
const DOORS: Readonly<Record<string, string | readonly string[]>> = {
  '#simulator': ['src/runtime/embedded.ts', 'src/cli/simulate.ts'],
  yaml: 'src/config/',
  ajv: 'src/config/',
  undici: ['src/net/', 'src/transport/llhttp.ts'],
  chokidar: 'src/runtime/watch.ts',
  commander: 'src/cli/',
  lmdb: 'src/stores/file',
  ioredis: 'src/stores/redis',
  pg: 'src/stores/postgres',
  jose: ['src/credentials/', 'src/features/identity/'],
  '@smithy/signature-v4': 'src/credentials/aws/',
  ws: ['src/net/framed-socket.ts', 'simulator/src/socket/'],
}

/** Only what loads the product's own code may run text; only workers, commands that print credentials, git, and messages to systemd are processes. */
const BUILTIN_DOORS: Readonly<Record<string, readonly string[]>> = {
  vm: ['bin/bundle.js', 'bin/gateway.js'],
  child_process: [
    'src/credentials/exec.ts',
    'src/cli/planning/git.ts',
    'src/cli/remote-git.ts',
    'src/cli/service-manager.ts',
  ],
  inspector: ['src/admin/profiling.ts'],
  cluster: ['src/runtime/workers/crew.ts', 'src/runtime/workers/worker.ts'],
}
const FORBIDDEN_BUILTINS = ['child_process', 'vm', 'cluster', 'inspector', 'repl', 'wasi']

/** Folders that decide per request: they never touch a disk. */
const DISKLESS = [
  'src/plan/',
  'src/features/',
  'src/kernel/',
  'src/translate/',
  'src/wire/',
  'src/codecs/',
  'src/net/',
  'src/transport/',
]

/** Names that no English word holds: looked for anywhere. */
const UNMISTAKABLE = [
  ...['openai', 'anthropic', 'gemini', 'claude', 'chatgpt', 'mistral', 'ollama', 'deepseek', 'midjourney'],
  ...['openrouter', 'lmstudio'],
]

/** Names that are looked for as words of their own. */
const VENDORS = [
  ...UNMISTAKABLE,
  'gpt',
  'groq',
  'azure',
  'cohere',
  'jina',
  'voyage',
  'bedrock',
  'vertex',
  'xai',
  'vllm',
]

/** The one place that loads modules of users, which the configuration names, and what imports for it in the bundle. */
const LOADERS = new Set(['src/core/load-module.ts', 'src/runtime/store-module.ts', 'bin/bundle.js'])

const SQL = /^\s*(select\s.+\sfrom|insert\s+into|update\s.+\sset|delete\s+from|create\s+table|drop\s+table)\b/is

/** Every TypeScript file below a folder, and JavaScript files in bin. */
export function readSources(root: string, folders: readonly string[]): Source[] {
  return folders.flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => /\.(ts|js|cjs|mjs)$/.test(name))
      .map(name => join(folder, name))
      .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') })),
  )
}

/** Imports of every kind: static, dynamic, re-exports, `require` and type imports. */
export function importsOf({ path, text }: Source): Import[] {
  return ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => ({
    specifier: fileName,
    file: fileName.startsWith('.') ? normalize(join(dirname(path), fileName)) : undefined,
  }))
}

/** Each rule says what is wrong with one file; nothing where it is sound. */
export const RULES = {
  layers,
  pipeline,
  features,
  messages,
  doors,
  builtins,
  disk,
  vendors,
  evaluation,
  sql,
  units,
} as const

function pipeline(source: Source): string[] {
  if (!source.path.startsWith('src/kernel/')) return []
  return importsOf(source).flatMap(({ file }) =>
    file?.startsWith('src/features/') === true ? [`imports ${file}`] : [],
  )
}

function features(source: Source): string[] {
  const from = featureOf(source.path)
  if (from === undefined) return []
  return importsOf(source).flatMap(({ file }) => {
    const to = file === undefined ? undefined : featureOf(file)
    const isFree = to === undefined || to === from || SHARED_BY_FEATURES.has(to)
    return isFree || FEATURE_USES[from]?.includes(to) === true ? [] : [`the feature ${from} imports ${to}`]
  })
}

/** `src/features/keys/index.ts` → `keys`; the list of features is in none. */
function featureOf(path: string): string | undefined {
  return /^src\/features\/([^/]+)\//.exec(path)?.[1]
}

/** What the kernel may know of `node:http`: types of plain values. Requests and answers are an `HttpExchange` to it. */
const PLAIN = new Set(['IncomingHttpHeaders', 'OutgoingHttpHeaders'])
const HTTP = /^(?:node:)?https?$/

function messages(source: Source): string[] {
  const isServing = source.path.startsWith('src/kernel/') || source.path.startsWith('src/features/')
  if (!isServing || !importsOf(source).some(({ specifier }) => HTTP.test(specifier))) return []
  return visit(source, node => {
    if (!ts.isStringLiteralLike(node) || !HTTP.test(node.text)) return undefined
    const { parent } = node
    if (ts.isImportDeclaration(parent)) return isPlain(parent) ? undefined : `imports more of ${node.text} than headers`
    const isImport = ts.isExportDeclaration(parent) || ts.isCallExpression(parent) || ts.isImportTypeNode(parent.parent)
    return isImport ? `imports ${node.text}` : undefined
  })
}

function isPlain({ importClause }: ts.ImportDeclaration): boolean {
  const named = importClause?.namedBindings
  if (importClause?.name !== undefined || named === undefined || !ts.isNamedImports(named)) return false
  return named.elements.every(({ propertyName, name }) => PLAIN.has((propertyName ?? name).text))
}

function layers(source: Source): string[] {
  const from = layerOf(source.path)
  return importsOf(source)
    .flatMap(({ file }) => (file === undefined ? [] : [layerOf(file)]))
    .filter(to => to !== from && !mayImport(from, to))
    .map(to => `${from} imports ${to}`)
}

function mayImport(from: string, to: string): boolean {
  const [here, there] = [from, to].map(name => LAYERS.findIndex(layer => layer.includes(name)))
  if (here === undefined || there === undefined || here === -1 || there === -1) return false
  return from === 'bin' ? to === 'cli' : there > here
}

/** `src/kernel/x.ts` → `kernel`, `dist/cli/main.js` → `cli`, `src/index.ts` → `index`, `bin/gateway.js` → `bin`. */
function layerOf(path: string): string {
  // The command line with all that it imports.
  if (path === 'dist/bundle/main.cjs') return 'cli'
  const [top = '', second = '', ...rest] = path.split('/')
  if (top !== 'src' && top !== 'dist') return top
  return rest.length === 0 ? second.replace(/\.[jt]s$/, '') : second
}

function doors(source: Source): string[] {
  return packagesOf(source)
    .filter(name => {
      const door = Object.hasOwn(DOORS, name) ? DOORS[name] : undefined
      return door === undefined || ![door].flat().some(path => source.path.startsWith(path))
    })
    .map(name => `imports the package ${name}`)
}

function packagesOf(source: Source): string[] {
  return importsOf(source)
    .filter(({ specifier, file }) => file === undefined && !specifier.startsWith('node:'))
    .map(({ specifier }) =>
      specifier
        .split('/')
        .slice(0, specifier.startsWith('@') ? 2 : 1)
        .join('/'),
    )
}

function builtins(source: Source): string[] {
  const names = importsOf(source).map(({ specifier }) => specifier.replace(/^node:/, ''))
  return names
    .filter(name => FORBIDDEN_BUILTINS.includes(name) && BUILTIN_DOORS[name]?.includes(source.path) !== true)
    .map(name => `imports node:${name}`)
}

function disk(source: Source): string[] {
  if (!DISKLESS.some(folder => source.path.startsWith(folder))) return []
  const names = importsOf(source).map(({ specifier }) => specifier)
  return names.filter(name => /^(node:)?fs(\/promises)?$/.test(name)).map(name => `imports ${name}`)
}

/** Words, also inside camelCase and snake_case, in code and comments alike. */
function vendors({ text }: Source): string[] {
  const words = new Set(
    text
      .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .split(/[^a-z]+/),
  )
  const joined = text.toLowerCase()
  return VENDORS.filter(name => words.has(name) || (UNMISTAKABLE.includes(name) && joined.includes(name))).map(
    name => `names ${name}`,
  )
}

function evaluation(source: Source): string[] {
  return visit(source, node => {
    if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return undefined
    const callee = node.expression.getText()
    if (/^(globalThis\.)?(eval|Function)$/.test(callee)) return `calls ${callee}`
    const [first] = node.arguments ?? []
    const dynamic = node.expression.kind === ts.SyntaxKind.ImportKeyword
    if (dynamic && first !== undefined && !ts.isStringLiteralLike(first) && !LOADERS.has(source.path))
      return 'imports a computed module'
    const timer = /^(globalThis\.)?set(Timeout|Interval|Immediate)$/.test(callee)
    return timer && first !== undefined && ts.isStringLiteralLike(first) ? `${callee} with a string` : undefined
  })
}

/** SQL put together from strings; whole statements with parameters are not concerns of this rule. */
function sql(source: Source): string[] {
  return visit(source, node => {
    if (ts.isTemplateExpression(node) && SQL.test(node.getText().slice(1))) return 'puts SQL together in a template'
    if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return undefined
    const isSql = ts.isStringLiteralLike(node.left) && SQL.test(`${node.left.text} `)
    return isSql ? 'puts SQL together with +' : undefined
  })
}

/** Ends of names that say how much of what, but not in which unit. */
const BARE =
  /(?:^|_)(?:TIMEOUT|DELAY|WAIT|PAUSE|AGE|INTERVAL|TTL|LIFE|LIFETIME|GRACE|PERIOD|DEADLINE|COOLDOWN|RETENTION|MARGIN|SECOND|MINUTE|HOUR|DAY|SIZE|LENGTH|MEMORY|MAX|MIN|MOST|LEAST|LONGEST|SHORTEST|LARGEST|USUAL|DEFAULT)$/
const RATIO = /(?:^|_)PER_[A-Z_]+$/
const TIME = /(?:^|_)(?:NS|US|MS|S|SECONDS|MINUTES|HOURS|DAYS)(?:_|$)/
const AMOUNT = /(?:^|_)(?:BYTES|KIB|MIB|CHARS|PIXELS|NUMBERS)(?:_|$)/

/** Numbers that are times, sizes or bounds have their unit in their name: `CONNECT_TIMEOUT_MS`, `MAX_LINE_BYTES`, `MAX_PARTS`. */
function units(source: Source): string[] {
  return visit(source, node => {
    if (!ts.isVariableDeclaration(node) || node.initializer === undefined || !isNumber(node.initializer))
      return undefined
    const [name, value] = [node.name.getText(), node.initializer.getText()]
    if (!/^[A-Z][A-Z0-9_]*$/.test(name) || RATIO.test(name)) return undefined
    const isAmount = /\b1024\b.*\*|\*.*\b1024\b/.test(value)
    const isTime = !isAmount && /\b60\b.*\*|\*.*\b60(?:_000)?\b/.test(value)
    const lacks = BARE.test(name) || (isTime && !TIME.test(name)) || (isAmount && !AMOUNT.test(name))
    return lacks ? `${name} does not say its unit` : undefined
  })
}

/** Made of numbers alone: `2 * 60_000`. */
function isNumber(node: ts.Expression): boolean {
  if (ts.isParenthesizedExpression(node)) return isNumber(node.expression)
  if (ts.isPrefixUnaryExpression(node)) return isNumber(node.operand)
  return ts.isBinaryExpression(node) ? isNumber(node.left) && isNumber(node.right) : ts.isNumericLiteral(node)
}

/** Regular expression literals of a file, with their lines. */
export function regexesOf(source: Source): { source: string; flags: string; line: number }[] {
  const found: { source: string; flags: string; line: number }[] = []
  const file = parse(source)
  walk(file, node => {
    if (!ts.isRegularExpressionLiteral(node)) return
    const end = node.text.lastIndexOf('/')
    const [text, flags] = [node.text.slice(1, end), node.text.slice(end + 1)]
    found.push({ source: text, flags, line: file.getLineAndCharacterOfPosition(node.getStart()).line + 1 })
  })
  return found
}

function visit(source: Source, judge: (node: ts.Node) => string | undefined): string[] {
  const found: string[] = []
  const file = parse(source)
  walk(file, node => {
    const fault = judge(node)
    if (fault === undefined) return
    found.push(`${fault} (line ${file.getLineAndCharacterOfPosition(node.getStart()).line + 1})`)
  })
  return found
}

function parse({ path, text }: Source): ts.SourceFile {
  return ts.createSourceFile(relative('.', path), text, ts.ScriptTarget.ES2023, true)
}

function walk(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node)
  ts.forEachChild(node, child => walk(child, see))
}
