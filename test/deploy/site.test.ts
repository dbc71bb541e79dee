import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { ADMIN_SECRET, adminLine } from '../helpers/admin.js'
import { startTestGateway } from '../helpers/gateway.js'

/** The documentation as a site: it builds, each link leads somewhere, and it needs nothing from the network. */

const ROOT = packageRoot()
/** Largest site, bytes, and largest first page with its style and script. */
const MAX_SITE_BYTES = 4 * 1024 * 1024
const MAX_FIRST_BYTES = 64 * 1024

async function built(out: string): Promise<ReadonlyMap<string, string>> {
  const { buildSite } = (await import(pathToFileURL(join(ROOT, 'scripts/site/build.mjs')).href)) as {
    buildSite(out: string): Promise<number>
  }
  await buildSite(out)
  const names = readdirSync(out, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.html'))
  return new Map(names.map(name => [name, readFileSync(join(out, name), 'utf8')]))
}

t.test('the site', async t => {
  const out = join(t.testdir({}), 'site')
  const pages = await built(out)
  t.ok(pages.size > 60, `${pages.size} pages`)

  t.test('each link and image leads to a file and an id that are there', async t => {
    for (const [name, html] of pages) {
      for (const [, address = ''] of html.matchAll(/ (?:href|src)="([^"]+)"/g)) {
        if (/^https?:/.test(address)) continue
        const [path = '', id] = address.split('#')
        const file = path === '' ? join(out, name) : join(out, dirname(name), path)
        if (!existsSync(file)) t.fail(`${name} → ${address}`)
        else if (id !== undefined && !readFileSync(file, 'utf8').includes(`id="${id}"`)) t.fail(`${name} → ${address}`)
      }
    }
  })

  t.test('scripts, styles and images come from the site itself', async t => {
    const page = [...pages.values()].join('\n')
    t.same(page.match(/<(?:script|link|img|iframe|source)[^>]+(?:src|href)="(?:https?:)?\/\/[^"]*"/g), null)
    t.same(page.match(/<script(?![^>]*\ssrc=)|\sstyle="|\son\w+="/g), null, 'nothing that a strict policy refuses')
  })

  t.test(
    'each page can be read by everyone: language, title, one main heading, texts for images, sizes for small screens',
    async t => {
      for (const [name, html] of pages) {
        t.match(html, '<html lang="en">', name)
        t.match(html, /<title>[^<]{3,}<\/title>/, name)
        t.match(html, 'name="viewport"', name)
        t.equal(html.match(/<h1 /g)?.length, 1, `${name} has one main heading`)
        t.equal(html.match(/<main /g)?.length, 1, name)
        for (const [image] of html.matchAll(/<img [^>]*>/g)) t.match(image, /alt="[^"]{3,}"/, name)
      }
    },
  )

  t.test('it is small', async t => {
    const size = (path: string): number => statSync(join(out, path)).size
    const all = readdirSync(out, { recursive: true, encoding: 'utf8' }).reduce((sum, name) => sum + size(name), 0)
    t.ok(all < MAX_SITE_BYTES, `${all} bytes`)
    const first = ['index.html', 'style.css', 'search.js'].reduce((sum, name) => sum + size(name), 0)
    t.ok(first < MAX_FIRST_BYTES, `${first} bytes`)
  })

  t.test('each section can be searched', async t => {
    const sections = JSON.parse(readFileSync(join(out, 'search.json'), 'utf8')) as { url: string; text: string }[]
    const found = (words: string): string[] =>
      sections.filter(({ text }) => text.includes(words)).map(({ url }) => url.replace(/#.*/, ''))
    t.ok(found('x-gateway-dropped').includes('translation.html'))
    t.ok(found('num_ctx').length + found('max_output').length > 0)
  })
})

t.test('the admin listener has it below /docs/, under the policy of the console', async t => {
  const { line, origin } = await adminLine()
  const env = { GATEWAY_ADMIN_KEY: ADMIN_SECRET }
  await startTestGateway(
    t,
    `version: 1\n${line}\nupstreams: { sim: { kind: simulator } }\nmodels: { sim-text: sim }\n`,
    { env },
  )
  for (const [path, type] of [
    ['index.html', 'text/html'],
    ['cookbook/ollama.html', 'text/html'],
    ['search.json', 'application/json'],
    ['images/concepts.svg', 'image/svg+xml'],
    ['images/console-overview.png', 'image/png'],
  ] as const) {
    const answer = await fetch(`${origin}/docs/${path}`)
    t.equal(answer.status, 200, path)
    t.match(String(answer.headers.get('content-type')), type)
    t.match(String(answer.headers.get('content-security-policy')), "default-src 'none'")
    await answer.arrayBuffer()
  }
})
