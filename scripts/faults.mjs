// The generated part of docs/faults.md: each fault of test/faults/ids.json with the titles of the tests that carry its id.
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = new URL('../', import.meta.url)
const ID = /\bF-[A-Z]\d+\b/g
/** The ids at the start of a title, or behind the names of the protocols that it is about: `chat → messages: F-U9 …`. */
const LEADING_IDS = /^(?:.*?: )?(?:F-[A-Z]\d+\b[: ]+)+(?=\S)/

/** Titles of one id in one file, in test/faults and elsewhere; the file has the others. */
const MAX_TITLES = { faults: 2, elsewhere: 1 }

const AREAS = {
  U: 'Upstreams that fail',
  C: 'Clients that break off or attack',
  A: 'Access',
  X: 'Addresses to fetch from and to call',
  T: 'Tasks',
  S: 'Stores',
  R: 'Configuration and reload',
  P: 'The process',
  W: 'WebSockets',
  M: 'Forms and uploads',
  D: 'Dependencies and secrets',
  B: 'Bombs: documents that are small on the wire and large as objects',
}

/** The listed faults: `{ 'F-U1': { fault, required } }`. */
export function faultIds() {
  return JSON.parse(readFileSync(new URL('test/faults/ids.json', root), 'utf8'))
}

/** Ids that are named for a word that is not an id. */
const MAX_NEAREST = 5

/**
 * The faults that words ask for, all without any: `F-U` is each whose letter is U, `F-U1` that one alone. `problems`: a line
 * for each word that names no fault, with the nearest ids.
 */
export function faultsAsked(words, listed) {
  const all = Object.keys(listed)
  const of = word => all.filter(id => id === word || (/^F-[A-Z]?$/.test(word) && id.startsWith(word)))
  const problems = words
    .filter(word => of(word).length === 0)
    .map(word => `${word} is not the id of a fault. The nearest: ${nearestIds(word, all).join(', ')}`)
  const wanted = new Set(words.flatMap(of))
  return { ids: Object.entries(listed).filter(([id]) => words.length === 0 || wanted.has(id)), problems }
}

/** Those of its letter first, by number; without a letter, all that have its number. */
function nearestIds(word, all) {
  const [, letter, digits] = /^(?:F-?)?([A-Z])?-?(\d*)/.exec(word.toUpperCase()) ?? []
  const number = Number(digits || 1)
  const far = id => (id[2] === letter ? 0 : 1000) + Math.abs(Number(id.slice(3)) - number)
  return all.toSorted((a, b) => far(a) - far(b)).slice(0, MAX_NEAREST)
}

/** The titles in the test files: `{ file, title, ids }`, with `…` for what is filled in when the test runs. */
export function faultTitles(files = testFiles()) {
  return files.flatMap(({ path, text }) =>
    literals(path, text)
      .filter(literal => LEADING_IDS.test(literal))
      .map(literal => ({
        file: path,
        ids: literal.match(LEADING_IDS)[0].match(ID),
        title: literal.replace(LEADING_IDS, ''),
      })),
  )
}

/** Ids that no test carries, and ids that tests carry and the list lacks. */
export function faultProblems(ids, titles) {
  const carried = new Map(titles.flatMap(({ file, ids }) => ids.map(id => [id, file])))
  return [
    ...Object.keys(ids)
      .filter(id => !carried.has(id))
      .map(id => `${id}: no test's title begins with it`),
    ...[...carried]
      .filter(([id]) => !Object.hasOwn(ids, id))
      .map(([id, file]) => `${id}: ${file} has it, test/faults/ids.json lacks it`),
  ]
}

export function faults() {
  const ids = faultIds()
  const titles = faultTitles()
  const problems = faultProblems(ids, titles)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return Object.entries(AREAS)
    .flatMap(([letter, area]) => [
      `## ${area}`,
      ...Object.entries(ids)
        .filter(([id]) => id[2] === letter)
        .map(([id, fault]) => entry(id, fault, titles)),
    ])
    .join('\n\n')
}

function entry(id, { fault, required }, titles) {
  const carrying = titles.filter(({ ids }) => ids.includes(id))
  const lines = [...new Set(carrying.map(({ file }) => file))].map(file => {
    const its = new Set(carrying.filter(title => title.file === file).map(({ title }) => title.trim()))
    return line(
      file,
      [...its].filter(title => /\w/.test(title)),
    )
  })
  return [`### ${id}: ${fault}`, '', required, '', ...lines].join('\n')
}

function line(file, titles) {
  const most = file.startsWith('faults/') ? MAX_TITLES.faults : MAX_TITLES.elsewhere
  const more = titles.length - most
  const shown = [...titles.slice(0, most), ...(more > 0 ? [`and ${more} more`] : [])]
  return `- \`${file.replace(/(\.test)?\.ts$/, '')}\`${shown.length > 0 ? `: ${shown.join('; ')}` : ''}`
}

function testFiles() {
  return [...filesBelow('test/', ''), ...filesBelow('src/', 'contracts/')].sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** TypeScript files below a folder of a root, by their paths from that root. */
function filesBelow(base, folder) {
  const from = new URL(base, root)
  return readdirSync(fileURLToPath(new URL(folder, from)), { recursive: true })
    .map(name => folder + name.replaceAll('\\', '/'))
    .filter(name => name.endsWith('.ts'))
    .map(path => ({ path, text: readFileSync(new URL(path, from), 'utf8') }))
}

/** The text of each string and template of a file that may hold an id. */
function literals(path, text) {
  const found = []
  if (!text.includes('F-')) return found
  const see = node => {
    if (ts.isStringLiteralLike(node)) found.push(node.text)
    else if (ts.isTemplateExpression(node))
      found.push(node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join(''))
    ts.forEachChild(node, see)
  }
  see(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true))
  return found
}
