import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from '../../src/config/parse.js'
import { preparsed } from '../../src/config/preparsed.js'
import { Report } from '../../src/config/report.js'
import { Source } from '../../src/config/source.js'
import type { FileType } from '../../src/config/validators.js'
import { packageRoot } from '../../src/core/package-root.js'

/** What the build knows of shipped files, beside what they say. */

const FOLDERS: readonly (readonly [string, FileType])[] = [
  ['routes', 'routes'],
  ['routes/kinds', 'kind'],
  ['routes/tasks', 'routes'],
]

const FILES = FOLDERS.flatMap(([folder, type]) => {
  const names = readdirSync(join(packageRoot(), folder)).filter(name => name.endsWith('.yaml'))
  return names.map(name => ({ file: join(packageRoot(), folder, name), type }))
})

t.test('every shipped file is known by its value, which is the one that parsing it gives', async t => {
  for (const { file, type } of FILES) {
    const known = preparsed(file, type, digestOf(readFileSync(file)))
    const read = parse(new Source(file, readFileSync(file, 'utf8')), true, new Report())
    t.strictSame(known?.value, read?.tree.value, file)
    t.equal(Object.getPrototypeOf(known?.value), null, 'no name is special')
  }
})

t.test('a file that was edited, and one taken for another type, are read anew', async t => {
  const [first] = FILES
  const file = first?.file ?? ''
  const digest = digestOf(readFileSync(file))
  t.ok(preparsed(file, 'routes', digest))
  t.equal(preparsed(file, 'routes', digestOf(Buffer.from('routes: {}'))), undefined)
  t.equal(preparsed(file, 'routes', ''), undefined)
  t.equal(preparsed(file, 'kind', digest), undefined)
  t.equal(preparsed(join(packageRoot(), 'routes/none.yaml'), 'routes', digest), undefined)
})

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
