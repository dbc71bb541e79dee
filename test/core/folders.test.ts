import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeFolder, makeFolderSync } from '../../src/core/folders.js'

const WAYS: readonly (readonly [string, (path: string, mode?: number) => unknown])[] = [
  ['at once', makeFolderSync],
  ['meanwhile', makeFolder],
]

for (const [name, make] of WAYS) {
  t.test(`folders are made with those above them, and those that are there stay: ${name}`, async t => {
    const path = join(t.testdir(), 'a', 'b', 'c')
    await make(path, 0o700)
    await make(path, 0o755)
    for (const one of [path, join(path, '..')]) t.equal(statSync(one).mode & 0o777, 0o700)
    const file = join(path, 'file')
    writeFileSync(file, '')
    for (const wrong of [file, join(file, 'below')])
      await t.rejects(async () => await make(wrong), { code: /EEXIST|ENOTDIR/ })
  })

  t.test(
    `a folder where there can be none is an error: ${name}`,
    { skip: !existsSync('/proc/self') && 'no /proc' },
    async t => {
      await t.rejects(async () => await make('/proc/nope/deep'), { code: 'ENOENT' })
    },
  )
}
