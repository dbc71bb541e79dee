import fs, { existsSync, rmdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
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

  t.test(`one that another process makes and removes meanwhile is made: ${name}`, async t => {
    const path = join(t.testdir(), 'a')
    const { mkdirSync: real } = fs
    const { mkdir } = fs.promises
    t.teardown(() => {
      Object.assign(fs, { mkdirSync: real })
      Object.assign(fs.promises, { mkdir })
      syncBuiltinESMExports()
    })
    let left = 3
    const meet = (): void => {
      if (left-- > 0) throw Object.assign(new Error('it is there'), { code: 'EEXIST' })
    }
    fs.mkdirSync = ((...options: Parameters<typeof real>) => {
      meet()
      return real(...options)
    }) as typeof real
    fs.promises.mkdir = (async (...options: Parameters<typeof mkdir>) => {
      meet()
      return mkdir(...options)
    }) as typeof mkdir
    syncBuiltinESMExports()
    await make(path)
    t.ok(statSync(path).isDirectory())
    rmdirSync(path)
    left = Number.POSITIVE_INFINITY
    await t.rejects(async () => await make(path), { code: 'EEXIST' })
  })

  t.test(`a link that leads nowhere is an error: ${name}`, async t => {
    const path = join(t.testdir(), 'a')
    symlinkSync(join(path, '..', 'nothing'), path)
    await t.rejects(async () => await make(path), { code: 'EEXIST' })
  })

  t.test(
    `a folder where there can be none is an error: ${name}`,
    { skip: !existsSync('/proc/self') && 'no /proc' },
    async t => {
      await t.rejects(async () => await make('/proc/nope/deep'), { code: 'ENOENT' })
    },
  )
}
