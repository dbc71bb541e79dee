import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { FETCHED, isMachinery, openersIn } from '../helpers/fetched-rows.js'
import { readSources } from '../helpers/source-rules.js'

// F-X1: each address that is fetched has a row that says who may set it and what guards it, with a test.

const sources = readSources(packageRoot(), ['src']).filter(({ path }) => path.endsWith('.ts'))

t.test('F-X1 each file that asks for connections belongs to a row, and each file of a row asks for some', async t => {
  const asking = sources.filter(one => !isMachinery(one.path) && openersIn(one).length > 0).map(({ path }) => path)
  t.ok(asking.length > 20)
  const inRows = new Set(FETCHED.flatMap(({ by }) => by))
  t.same(
    asking.filter(path => !inRows.has(path)),
    [],
    'without a row',
  )
  t.same(
    [...inRows].filter(path => !asking.includes(path)),
    [],
    'of a row, and asks for none',
  )
})

t.test('F-X1 each row has its test', async t => {
  for (const { address, setBy, guard, test } of FETCHED) {
    const [file, title] = test
    const text = readFileSync(join(packageRoot(), 'test', `${file}.test.ts`), 'utf8')
    t.ok(text.includes(title), `${address}: ${file} has “${title}”`)
    t.comment(`${address} — set by ${setBy} — ${guard} — ${file}: ${title}`)
  }
})

t.test('F-X1 a file that asks for connections is found, however it does', async t => {
  const found = (text: string): string[] => openersIn({ path: 'src/x.ts', text })
  t.same(found("import { type Question, ask } from '../net/ask.js'"), ['ask'])
  t.same(found("import { request as open } from 'node:http'"), ['request'])
  t.same(found("import { createServer, isIP } from 'node:net'\nimport type { ask } from './ask.js'"), [])
  t.same(found('const got = await fetch(url)'), ['fetch'])
  t.same(found('keeper.fetch(config); async fetch(a) {}; this.#fetch(b)'), [])
  t.same(found("import {\n  type A,\n  GuardedHttp,\n} from '../../net/guarded.js'"), ['GuardedHttp'])
})
