// The documentation as a site: docs/*.md become pages with a sidebar and a search that needs no network.
//   node scripts/site/build.mjs [FOLDER]     writes it (default: site)
// `npm run build` writes it into the console's folder as well, where the admin listener serves it below /docs/.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import esbuild from 'esbuild'
import { Marked } from 'marked'
import { LISTED_BY_INDEX, SIDEBAR } from './sidebar.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const HERE = join(ROOT, 'scripts/site')
const DOCS = join(ROOT, 'docs')
/** The page at the root of the site. */
const FIRST = 'start'
/** Most text of one section that can be searched, characters. */
const MAX_SECTION_CHARACTERS = 4000

/**
 * Writes the site. `strict`: throws if a page has no place in the sidebar, or a link leads nowhere. The build of the product is
 * not strict: a page that someone is writing does not stop it.
 */
export async function buildSite(out, { strict = true } = {}) {
  const pages = readPages()
  const rendered = new Map([...pages].map(([name, text]) => [name, render(name, text)]))
  if (strict) {
    checkPlaces(pages)
    checkLinks(rendered)
  }
  rmSync(out, { recursive: true, force: true })
  for (const [name, page] of rendered) write(join(out, `${name}.html`), document(name, page, rendered))
  write(join(out, 'index.html'), document(FIRST, rendered.get(FIRST), rendered))
  write(join(out, 'search.json'), JSON.stringify([...rendered.values()].flatMap(({ sections }) => sections)))
  cpSync(join(DOCS, 'images'), join(out, 'images'), { recursive: true })
  cpSync(join(HERE, 'style.css'), join(out, 'style.css'))
  cpSync(join(HERE, '../../console/icon.svg'), join(out, 'icon.svg'))
  await esbuild.build({
    entryPoints: [join(HERE, 'search.js')],
    outfile: join(out, 'search.js'),
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
  })
  return rendered.size
}

function readPages() {
  const names = readdirSync(DOCS, { recursive: true })
    .map(name => name.replaceAll('\\', '/'))
    .filter(name => name.endsWith('.md'))
  return new Map(names.sort().map(name => [name.slice(0, -3), readFileSync(join(DOCS, name), 'utf8')]))
}

function checkPlaces(pages) {
  const placed = new Set(SIDEBAR.flatMap(([, names]) => names))
  const listed = name => Object.keys(LISTED_BY_INDEX).some(folder => name.startsWith(folder))
  const faults = [
    ...[...pages.keys()].filter(name => !placed.has(name) && !listed(name)).map(name => `docs/${name}.md has no place`),
    ...[...placed].filter(name => !pages.has(name)).map(name => `docs/${name}.md does not exist`),
  ]
  if (faults.length > 0) throw new Error(`scripts/site/sidebar.mjs: ${faults.join(', ')}`)
}

/** One page: its title, HTML, ids that links may name, links to other pages, and sections for the search. */
function render(name, text) {
  const ids = new Set(Array.from(text.matchAll(/<a id="([\w-]+)">/g), ([, id]) => id))
  const links = []
  const sections = []
  const title = /^# (.+)$/m.exec(text)?.[1] ?? name
  const begin = (heading, id) => sections.push({ page: title, title: heading, url: `${name}.html#${id}`, text: '' })
  const note = words => {
    const section = sections.at(-1)
    if (section !== undefined) section.text = `${section.text} ${words}`.slice(0, MAX_SECTION_CHARACTERS)
  }
  const renderer = {
    heading({ tokens, depth, id }) {
      return `<h${depth} id="${id}">${this.parser.parseInline(tokens)} <a class="anchor" href="#${id}" aria-label="Link to this section">#</a></h${depth}>\n`
    },
    link({ href, tokens }) {
      const label = this.parser.parseInline(tokens)
      if (/^https?:/.test(href)) return `<a href="${escaped(href)}" rel="noopener">${label}</a>`
      const [path, anchor] = href.split('#')
      const target = path === '' ? `${name}.md` : posix.join(posix.dirname(name), path)
      // What is not below docs/ is in the package, not on the site.
      if (target.startsWith('../') || !target.endsWith('.md'))
        return `<span title="${escaped(target.replace('../', ''))} in the package">${label}</span>`
      links.push({ target: target.slice(0, -3), anchor })
      return `<a href="${escaped(path.replace(/\.md$/, '.html'))}${anchor === undefined ? '' : `#${anchor}`}">${label}</a>`
    },
    table(token) {
      const cells = row => row.map(cell => `<td>${this.parser.parseInline(cell.tokens)}</td>`).join('')
      const head = token.header.map(cell => `<th scope="col">${this.parser.parseInline(cell.tokens)}</th>`).join('')
      const body = token.rows.map(row => `<tr>${cells(row)}</tr>`).join('\n')
      return `<div class="wide" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>\n`
    },
    code({ text: code, lang = '' }) {
      return `<pre tabindex="0"><code data-lang="${escaped(lang.split(' ')[0])}">${escaped(code)}</code></pre>\n`
    },
  }
  /** Comes to each token before it is rendered, in their order. */
  const walkTokens = token => {
    if (token.type === 'heading') {
      token.id = freeId(slug(token.text), ids)
      begin(plain(token.text), token.id)
    } else if (['paragraph', 'list_item', 'code'].includes(token.type)) note(plain(token.text))
    else if (token.type === 'table') for (const row of token.rows) note(row.map(cell => plain(cell.text)).join(' '))
  }
  const marked = new Marked({ gfm: true, renderer, walkTokens })
  const html = marked.parse(text)
  return { title, html, ids, links, sections }
}

/** As the anchors of GitHub, which the documents use. */
function slug(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replace(/\s/g, '-')
}

function freeId(wanted, ids) {
  let id = wanted
  for (let next = 1; ids.has(id); next++) id = `${wanted}-${next}`
  ids.add(id)
  return id
}

function plain(markdown) {
  return markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*|]/g, '')
}

function checkLinks(rendered) {
  const faults = [...rendered].flatMap(([name, { links }]) =>
    links
      .filter(({ target, anchor }) => {
        const page = rendered.get(target)
        return page === undefined || (anchor !== undefined && !page.ids.has(anchor))
      })
      .map(({ target, anchor }) => `docs/${name}.md → ${target}.md${anchor === undefined ? '' : `#${anchor}`}`),
  )
  if (faults.length > 0) throw new Error(`links that lead nowhere:\n${faults.join('\n')}`)
}

function document(name, { title, html }, rendered) {
  const up = name.includes('/') ? '../' : ''
  const entry = page => {
    const current = page === name || LISTED_BY_INDEX[`${posix.dirname(name)}/`] === page
    return `<li><a href="${up}${page}.html"${current ? ' aria-current="page"' : ''}>${escaped(plain(rendered.get(page).title))}</a></li>`
  }
  const groups = SIDEBAR.map(
    ([label, names]) =>
      `<h2>${label}</h2>\n<ul>${names
        .filter(page => rendered.has(page))
        .map(entry)
        .join('\n')}</ul>`,
  ).join('\n')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${escaped(plain(title))}: documentation of the model gateway">
<title>${escaped(plain(title))} – Model gateway</title>
<link rel="icon" href="${up}icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${up}style.css">
<script type="module" src="${up}search.js" data-root="${up}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header>
<a class="name" href="${up}index.html">Model gateway</a>
<div class="search" role="search">
<input id="search" type="search" placeholder="Search ( / )" aria-label="Search the documentation" autocomplete="off">
<ol id="found" hidden></ol>
</div>
</header>
<div class="columns">
<nav aria-label="Pages"><details open><summary>Pages</summary>
${groups}
</details></nav>
<main id="content">
${html}</main>
</div>
</body>
</html>
`
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

function write(path, text) {
  if (!existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const out = resolve(process.argv[2] ?? join(ROOT, 'site'))
  console.log(`${await buildSite(out)} pages in ${out}`)
}
