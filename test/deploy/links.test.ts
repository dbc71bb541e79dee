import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { Marked, type Token, type Tokens } from 'marked'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'

/** Links of every page that people read in the repository: each leads to a file that is there, and to a heading of it. */

const ROOT = packageRoot()
const LEAST_PAGES = 90
const LEAST_LINKS = 600
/** Comments of other files have addresses, too. */
const OTHERS = /\.(?:ya?ml|json|service|plist|tpl|txt)$/

interface Link {
  readonly target: string
  /** Of the page, for a message. */
  readonly label: string
}

interface Page {
  readonly links: readonly Link[]
  readonly ids: ReadonlySet<string>
}

/** As GitHub makes anchors of headings: letters, numbers, `_` and `-` stay, spaces become `-`, and a second one gets a number. */
function anchorsOf(headings: readonly string[]): readonly string[] {
  const seen = new Map<string, number>()
  return headings.map(heading => {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    const id = plain
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\s-]/gu, '')
      .replace(/\s/g, '-')
    const times = seen.get(id) ?? 0
    seen.set(id, times + 1)
    return times === 0 ? id : `${id}-${times}`
  })
}

const known = new Map<string, Page>()

function pageOf(text: string): Page {
  const page = known.get(text) ?? readPage(text)
  known.set(text, page)
  return page
}

function readPage(text: string): Page {
  const links: Link[] = []
  const headings: string[] = []
  const html: string[] = []
  const marked = new Marked({ gfm: true })
  marked.walkTokens(marked.lexer(text), (token: Token) => {
    if (token.type === 'heading') headings.push((token as Tokens.Heading).text)
    // A bare address in a text is an example, as `https://host:port` is.
    else if ((token.type === 'link' || token.type === 'image') && token.raw !== token.href)
      links.push({ target: (token as Tokens.Link).href, label: token.raw })
    else if (token.type === 'html') html.push(token.raw)
  })
  for (const [, target = ''] of html.join('\n').matchAll(/\s(?:href|src|srcset)="([^"]+)"/g))
    links.push({ target, label: target })
  const named = Array.from(text.matchAll(/<a id="([\w-]+)">/g), ([, id = '']) => id)
  return { links, ids: new Set([...anchorsOf(headings), ...named]) }
}

/** What is wrong with a link of a page; undefined if nothing is. */
function fault(page: string, { target }: Link, files: (path: string) => string | undefined): string | undefined {
  if (/^[a-z][a-z+.-]*:/i.test(target)) return externalFault(target)
  const [path = '', anchor, more] = target.split('#')
  if (more !== undefined || /[\s\\]/.test(target)) return 'is not well formed'
  const file = path === '' ? page : posix.join(posix.dirname(page), decodeURI(path))
  const text = files(file)
  if (text === undefined) return `leads to ${file}, which is not there`
  if (anchor === undefined) return undefined
  return pageOf(text).ids.has(decodeURI(anchor)) ? undefined : `${file} has no heading #${anchor}`
}

/** Other sites are not asked: their addresses are looked at only. */
function externalFault(target: string): string | undefined {
  if (target.startsWith('mailto:')) return /^mailto:[^@\s]+@[^@\s]+$/.test(target) ? undefined : 'is not an address'
  const url = URL.canParse(target) ? new URL(target) : undefined
  if (url === undefined || !/^https?:\/\/[^/\s]/.test(target)) return 'is not well formed'
  if (/[<>{}|\\^`\s]/.test(target)) return 'has characters that an address must not have'
  const isHere = /^(?:localhost|127\.|\[)/.test(url.host)
  if (!isHere && !url.hostname.includes('.')) return 'names no host'
  return isHere || url.protocol === 'https:' ? undefined : 'is not https'
}

function fileText(path: string): string | undefined {
  const file = join(ROOT, path)
  if (!existsSync(file)) return undefined
  return path.endsWith('.md') ? readFileSync(file, 'utf8') : ''
}

const below = (folder: string): readonly string[] =>
  (readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }) as string[]).map(name => `${folder}/${name}`)
const pages = [
  ...readdirSync(ROOT),
  ...['docs', 'deploy', 'bench', 'console', 'simulator', '.github'].flatMap(below),
].filter(name => name.endsWith('.md') && !/(?:^|\/)(?:node_modules|out|dist)\//.test(name))

t.test('links that lead nowhere are found', async t => {
  const files: Readonly<Record<string, string>> = { 'docs/a.md': '# A b\n\n## `x`: a “y”\n\n## A b\n', 'docs/b.md': '' }
  const of = (target: string): string | undefined =>
    fault('docs/b.md', { target, label: target }, path => files[path.replace(/^\.\//, '')])
  for (const good of ['a.md', 'a.md#a-b', 'a.md#a-b-1', 'a.md#x-a-y', '../docs/a.md', 'https://a.example/b?c#d'])
    t.equal(of(good), undefined, good)
  for (const bad of [
    'c.md',
    'a.md#b',
    '#a',
    '../a.md',
    'a.md#a-b-2',
    'a b.md',
    'https://',
    'http://a.example',
    'https://host',
  ])
    t.type(of(bad), 'string', bad)
})

t.test('each link of each page leads to a file and a heading that are there', async t => {
  for (const name of [
    'README.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'SECURITY.md',
    'docs/start.md',
    'docs/cookbook/index.md',
  ])
    t.ok(pages.includes(name), name)
  t.ok(pages.length >= LEAST_PAGES, `${pages.length} pages`)
  let links = 0
  for (const page of pages) {
    for (const link of pageOf(readFileSync(join(ROOT, page), 'utf8')).links) {
      links++
      const found = fault(page, link, fileText)
      if (found !== undefined) t.fail(`${page}: ${link.label} ${found}`)
    }
  }
  t.ok(links >= LEAST_LINKS, `${links} links`)
})

t.test('addresses and files that comments of deploy/ name are there', async t => {
  let named = 0
  for (const path of below('deploy').filter(name => OTHERS.test(name))) {
    const text = readFileSync(join(ROOT, path), 'utf8')
    for (const [address] of text.matchAll(/https?:\/\/[\w.-]+\.(?:com|org|io|dev|net|gov)\b[^\s"'<>)\]]*/g)) {
      named++
      // Names that look like addresses: the types of a property list and of a schema.
      if (!/\/DTDs\/|json-schema\.org/.test(address)) t.equal(externalFault(address), undefined, `${path}: ${address}`)
    }
    for (const [, file = ''] of text.matchAll(/(?:^|[\s(`])((?:docs|deploy|scripts|test)\/[\w./-]+\.\w+)/g)) {
      named++
      t.ok(existsSync(join(ROOT, file)) || existsSync(join(ROOT, dirname(path), file)), `${path}: ${file}`)
    }
  }
  t.ok(named >= 5, `${named} are named`)
})
