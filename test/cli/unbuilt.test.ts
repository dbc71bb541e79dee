import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'

/** Runs `bin/gateway.js` in a checkout that was never built. */
async function unbuilt(folder: string): Promise<{ code: number; stdout: string; stderr: string }> {
  mkdirSync(join(folder, 'bin'))
  for (const file of ['bin/gateway.js', 'bin/bundle.js', 'package.json'])
    copyFileSync(join(packageRoot(), file), join(folder, file))
  const started = promisify(execFile)(process.execPath, [join(folder, 'bin', 'gateway.js'), 'serve'])
  return started.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
}

t.test('before a build the command prints in one line what to run', async t => {
  const { code, stderr } = await unbuilt(t.testdir({ node_modules: {} }))
  t.equal(code, 2)
  t.equal(stderr, 'error: the gateway is not built yet; run: npm run build\n')
})

t.test('before an installation, too', async t => {
  const { code, stderr } = await unbuilt(t.testdir({}))
  t.equal(code, 2)
  t.equal(stderr, 'error: the gateway is not built yet; run: npm ci && npm run build\n')
})

t.test('npm start says that it builds before it does', async t => {
  const { scripts } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'))
  t.match(scripts.start, /^echo building\b[^&|;<>]* && npm run --silent build && /)
})
