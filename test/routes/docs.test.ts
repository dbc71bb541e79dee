import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import { packageRoot } from '../../src/core/package-root.js'

const root = packageRoot()
const pages = [...readdirSync(join(root, 'docs')).map(page => `docs/${page}`), 'README.md'].filter(page =>
  page.endsWith('.md'),
)

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

t.test('every link between the documents leads somewhere', async t => {
  for (const page of pages.filter(exists)) {
    for (const [, target = ''] of read(page).matchAll(/\]\(([\w./-]+\.md)\)/g)) {
      t.ok(exists(join(page, '..', target)), `${page} → ${target}`)
    }
  }
})

function exists(path: string): boolean {
  try {
    return read(path) !== ''
  } catch {
    return false
  }
}
