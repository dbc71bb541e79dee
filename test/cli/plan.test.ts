import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { run } from './bin.js'

const GOLDEN = join(packageRoot(), 'test/golden/difference')
const UPDATE = process.env.UPDATE_GOLDEN === '1'
const VERSION: unknown = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')).version

t.test('plan prints each format as the golden file has it', async t => {
  await Promise.all(
    ['text', 'json', 'markdown', 'github', 'sarif'].map(async format => {
      const { code, stdout, stderr } = await run(['plan', 'old.yaml', 'new.yaml', '--format', format], { cwd: GOLDEN })
      t.equal(code, 0, stderr)
      const told = stdout.replaceAll(`"${VERSION}"`, '"VERSION"')
      const path = join(GOLDEN, `${format}.txt`)
      if (UPDATE) writeFileSync(path, told)
      else t.equal(told, readFileSync(path, 'utf8'), format)
    }),
  )
})

t.test('plan of two equal files has no changes, and --fail-on finds marks', async t => {
  const plan = (...args: readonly string[]) => run(['plan', ...args], { cwd: GOLDEN })
  const [same, text, weaker, back, strange] = await Promise.all([
    plan('old.yaml', 'old.yaml', '--format', 'json', '--fail-on', 'weaker,loss,unreachable'),
    plan('old.yaml', 'old.yaml'),
    plan('old.yaml', 'new.yaml', '--fail-on', 'weaker'),
    plan('new.yaml', 'old.yaml', '--fail-on', 'weaker'),
    plan('old.yaml', 'new.yaml', '--fail-on', 'worse'),
  ])
  t.strictSame([same.code, JSON.parse(same.stdout)], [0, { changes: [] }])
  t.strictSame([text.code, text.stdout], [0, 'nothing differs\n'])
  t.strictSame([weaker.code, back.code, strange.code], [1, 0, 2])
})

t.test('plan reads git revisions, with what they include, and the file of the working tree without NEW', async t => {
  const cwd = t.testdir({ sub: {} })
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.email=a@example', '-c', 'user.name=a', ...args], { cwd })
  const at = join(cwd, 'sub', 'gateway.yaml')
  mkdirSync(join(cwd, 'sub', 'parts'))
  const part = join(cwd, 'sub', 'parts', 'models.yaml')
  copyFileSync(join(GOLDEN, 'old.yaml'), at)
  writeFileSync(at, `${readFileSync(at, 'utf8')}include: [parts/*.yaml]\n`)
  writeFileSync(part, 'models:\n  more: north\n')
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'one')
  writeFileSync(part, 'models:\n  more: south\n')
  const revision = await run(['plan', 'HEAD'], { cwd: join(cwd, 'sub') })
  t.equal(revision.code, 0, revision.stderr)
  t.match(revision.stdout, /model more for key bob on .*: north as more → south as more/)
  const both = await run(['plan', 'HEAD:sub/gateway.yaml', 'HEAD:sub/gateway.yaml'], { cwd })
  t.strictSame([both.code, both.stdout], [0, 'nothing differs\n'], both.stderr)
  const none = await run(['plan', 'HEAD~9'], { cwd: join(cwd, 'sub') })
  t.strictSame([none.code, none.stderr], [2, 'error: HEAD~9 is neither a file nor a git revision that has gateway.yaml\n'])
})
