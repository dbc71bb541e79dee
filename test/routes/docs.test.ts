import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import { packageRoot } from '../../src/core/package-root.js'

const root = packageRoot()
const pages = [
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map(page => `docs/${page}`),
  ...readdirSync(root),
].filter(page => page.endsWith('.md'))

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

const validate = new Ajv({ strict: false }).compile(JSON.parse(read('schemas/gateway.schema.json')))

t.test('every YAML example of the documents fits the language', async t => {
  for (const page of pages.filter(exists)) {
    for (const [, example = ''] of read(page).matchAll(/```yaml\n([\s\S]*?)```/g)) {
      // A digest is left open in examples.
      const document = parse(example.replaceAll('sha256:…', `sha256:${'0'.repeat(64)}`))
      validate({ version: 1, ...document })
      t.same(validate.errors ?? [], [], `${page}\n${example}`)
    }
  }
})

t.test('every link between the documents leads to a page and a heading that are there', async t => {
  for (const page of pages.filter(exists)) {
    for (const [, target = '', anchor] of read(page).matchAll(/\]\(([\w./-]+\.md)?(?:#([\w-]+))?\)/g)) {
      const path = target === '' ? page : join(page, '..', target)
      t.ok(exists(path), `${page} → ${target}`)
      if (anchor !== undefined) t.ok(anchorsOf(path).has(anchor), `${page} → ${target}#${anchor}`)
    }
  }
})

/** What a page can be linked at: its headings, and the marks in its tables. */
function anchorsOf(page: string): Set<string> {
  const text = read(page)
  const headings = text.match(/^#+ .*$/gm) ?? []
  const slugs = headings.map(heading =>
    heading
      .replace(/^#+ /, '')
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replace(/\s/g, '-'),
  )
  return new Set([...slugs, ...Array.from(text.matchAll(/<a id="([\w-]+)">/g), ([, id = '']) => id)])
}

function exists(path: string): boolean {
  try {
    return read(path) !== ''
  } catch {
    return false
  }
}
