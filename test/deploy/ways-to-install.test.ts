import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'

/** Each way of installing and starting is tried by CI: by a step of `.ci/run`, or by a test that it runs. */

const ROOT = packageRoot()
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const CI = read('.ci/run')

/** Ways, and the step that tries each: what it runs, and words of its script. */
const STEPS: Readonly<Record<string, readonly [command: string, script?: string, words?: readonly string[]]>> = {
  'npm ci && npm start, in at most 20 lines': ['with_path first_screen', '.ci/run', ['-le 20 ]']],
  'npm pack and npx, to the dashboard, each step timed': [
    'node scripts/user-path.mjs',
    'scripts/user-path.mjs',
    [
      'async npx()',
      'async install()',
      'async key()',
      'async model()',
      'async app()',
      'async budget()',
      'async dashboard()',
    ],
  ],
  'the container image': ['node scripts/container.mjs', 'scripts/container.mjs', ['isTheSame(', 'isLean(', 'runs(']],
  'the files of the image, without namespaces': [
    'node scripts/container.mjs --chroot',
    'scripts/container.mjs',
    ['runsInChroot('],
  ],
  'the chart and the plain manifests': [
    'node scripts/kubernetes.mjs',
    'scripts/kubernetes/check.py',
    ['kubernetes_validate', 'deploy/kubernetes'],
  ],
  'the site of the documentation': [
    'node scripts/lighthouse.mjs',
    'scripts/lighthouse.mjs',
    ['docs/index.html', 'LEAST_SCORE'],
  ],
  'the commands of the documentation': ['node scripts/doc-commands.mjs'],
  'other runtimes': ['node scripts/other-runtimes.mjs bun'],
}

/** Ways that tests try, and words of their titles. */
const TESTS: Readonly<Record<string, readonly [file: string, title: string]>> = {
  'the .deb': ['test/deploy/systemd.test.ts', 'dpkg installs the .deb, upgrades it, removes it and purges it'],
  'a service of systemd': ['test/deploy/deploy.test.ts', 'the unit of systemd is well formed'],
  'a service of launchd': ['test/deploy/systemd.test.ts', 'the service of launchd is well formed'],
  compose: ['test/deploy/compose.test.ts', 'served with a real database'],
  'the action': ['test/deploy/deploy.test.ts', 'the action runs commands that exist'],
  'the site': ['test/deploy/site.test.ts', 'the site'],
  'a release, with SBOM and licences': [
    'test/deploy/release.test.ts',
    'a release writes version, changelog, tag, package, SBOM',
  ],
  'Windows, faked': ['test/core/platform.test.ts', 'a gateway on Windows drains'],
  'watching, faked': ['test/runtime/watch-platforms.test.ts', 'Windows: a file that is renamed'],
}

/** A line that runs the command as a step, and no further words behind it. */
function isStep(command: string): boolean {
  return CI.split('\n').some(
    line => /^(?:in_(?:time|turn) \d+ )?(?:step|shown|tests|smoke) /.test(line) && line.endsWith(command),
  )
}

t.test('a step tries it', async t => {
  t.notOk(isStep('node scripts/no-such-step.mjs'))
  for (const [way, [command, script, words = []]] of Object.entries(STEPS)) {
    t.ok(isStep(command), `${way}: ${command}`)
    const [, path] = /^node (\S+)/.exec(command) ?? []
    if (path !== undefined) t.ok(existsSync(join(ROOT, path)), path)
    for (const word of words) t.ok(read(script ?? '').includes(word), `${way}: ${word}`)
  }
})

t.test('a test tries it, which CI runs', async t => {
  t.ok(isStep('npm test') && isStep('node scripts/test.mjs --apart'))
  for (const [way, [file, title]] of Object.entries(TESTS)) t.ok(read(file).includes(title), `${way}: ${file}`)
})

t.test('what is not shipped is decided: one file with Node inside', async t => {
  t.match(read('docs/decisions/single-executable.md'), '# No single executable')
  t.notOk(existsSync(join(ROOT, 'sea-config.json')))
})
