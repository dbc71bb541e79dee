import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Spooler } from '../../src/stores/spool.js'
import { asRoot } from '../helpers/platform.js'

/** Text of an answer that waits on the disk for its end. */

const BLOCK = Buffer.alloc(1024, 'a')

function spooler(
  test: Pick<typeof t, 'teardown'>,
  disk: number,
): { readonly spooler: Spooler; readonly folder: string } {
  const above = mkdtempSync(join(tmpdir(), 'gateway-overflow-'))
  test.teardown(() => rmSync(above, { recursive: true, force: true }))
  const folder = join(above, 'spool')
  return { spooler: new Spooler({ folder, body: 1024, memory: 1024, disk }), folder }
}

t.test('written text can be read, has no file name, and is released', async t => {
  const stage = spooler(t, 1e6)
  const file = stage.spooler.overflow('key')
  t.equal(file.write(BLOCK), 0)
  t.equal(file.write(Buffer.from('b'.repeat(10))), 1024)
  t.equal(stage.spooler.use.disk, 1034)
  t.same(readdirSync(stage.folder), [])
  t.equal(file.read(1023, 3).toString(), 'abb')
  file.close()
  file.close()
  t.equal(stage.spooler.use.disk, 0)
  t.equal(file.write(BLOCK), undefined, 'nothing after the end')
  t.throws(() => file.read(0, 1))
})

t.test('past the limit of the spool, text stays in memory', async t => {
  const stage = spooler(t, 2300)
  const file = stage.spooler.overflow('key')
  t.same([file.write(BLOCK), file.write(BLOCK), file.write(BLOCK)], [0, 1024, undefined])
  t.equal(file.read(1024, 1024).toString(), BLOCK.toString())
  file.close()
  t.equal(stage.spooler.use.disk, 0)
})

t.test('where there can be no file, text stays in memory', { skip: asRoot }, async t => {
  const stage = spooler(t, 1e6)
  chmodSync(join(stage.folder, '..'), 0o500)
  const file = stage.spooler.overflow('key')
  t.equal(file.write(BLOCK), undefined)
  file.close()
  t.equal(stage.spooler.use.disk, 0)
})
