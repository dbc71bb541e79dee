import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'

interface Locked {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly dev?: boolean
  readonly link?: boolean
  readonly hasInstallScript?: boolean
  readonly optional?: boolean
}

const read = (file: string): unknown => JSON.parse(readFileSync(join(packageRoot(), file), 'utf8'))
const { dependencies } = read('package.json') as { dependencies: Readonly<Record<string, string>> }
const { packages } = read('package-lock.json') as { packages: Readonly<Record<string, Locked>> }
const installed = Object.entries(packages).filter(([path]) => path.startsWith('node_modules/'))
const shipped = installed.filter(([, { dev, link }]) => dev !== true && link !== true)

t.test('F-D1 dependencies of the product have exact versions, and the lock file knows the digest of each', async t => {
  for (const [name, version] of Object.entries(dependencies)) t.match(version, /^\d+\.\d+\.\d+$/, name)
  t.ok(shipped.length > Object.keys(dependencies).length)
  for (const [path, { integrity, resolved }] of shipped) {
    t.match(integrity, /^sha512-/, path)
    t.notMatch(resolved, /^(git|http:)/, path)
  }
})

t.test('F-D1 the product works without any script of a package being run', async t => {
  // lmdb and msgpackr-extract look for a binary of theirs, which their packages hold, and run without.
  const withScripts = shipped.filter(
    ([, { hasInstallScript, optional }]) => hasInstallScript === true && optional !== true,
  )
  t.same(
    withScripts.map(([path]) => path),
    ['node_modules/lmdb'],
  )
})
