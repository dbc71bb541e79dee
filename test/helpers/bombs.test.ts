import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { SHAPES } from './bombs.js'

t.test('docs/faults.md has a row for every bomb', async t => {
  const page = readFileSync(join(packageRoot(), 'docs', 'faults.md'), 'utf8')
  for (const { name } of SHAPES) t.ok(page.includes(`\n| ${name} | `), name)
})
