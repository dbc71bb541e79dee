import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Ajv } from 'ajv'
import t, { type Test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { packageRoot } from '../../src/core/package-root.js'
import { METRICS } from '../../src/features/metrics/list.js'
import { start } from '../cli/bin.js'
import { skipped } from '../helpers/skipped.js'

/** What is shipped to run the gateway elsewhere: the image, systemd, Kubernetes and the action. */

const ROOT = packageRoot()
const KEY = 'the-key-of-the-caller-0123456789abcdef'
const ENV = { GATEWAY_KEY: KEY, GATEWAY_ADMIN_KEY: `${KEY}-admin`, DATABASE_URL: 'postgres://u:p@127.0.0.1/d' }
const text = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const yaml = (path: string): never => parse(text(path)) as never

/** What a supervisor gives its workers beyond their drain. */
const END_SECONDS = 15
/** The user of the image. */
const USER = 10001

interface Ran {
  readonly status: number | null
  readonly output: string
}

/** A command of the gateway, to its end. */
function gateway(...args: string[]): Ran {
  return ranAs({}, args)
}

/** As the user of the image, a number without a name; only root can. */
function inContainer(...args: string[]): Ran {
  return ranAs(process.getuid?.() === 0 ? { uid: USER, gid: USER } : {}, args)
}

function ranAs(user: { readonly uid?: number; readonly gid?: number }, args: readonly string[]): Ran {
  const env = { PATH: process.env.PATH, ...ENV }
  const options = { ...user, env, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'bin/gateway.js'), ...args], options)
  return { status, output: stdout + stderr }
}

function toolExists(name: string): boolean {
  return spawnSync(name, ['--version']).error === undefined
}

interface Values {
  readonly config: object
  readonly envFrom: readonly string[]
  readonly [name: string]: unknown
}

t.test('the configurations of image, compose and chart are valid, and admit the key of their variable', t => {
  const folder = t.testdir({})
  const values: Values = yaml('deploy/helm/values.yaml')
  writeFileSync(join(folder, 'chart.yaml'), JSON.stringify(values.config))
  for (const file of ['deploy/container.yaml', 'deploy/compose/gateway.yaml', join(folder, 'chart.yaml')]) {
    const path = resolve(ROOT, file)
    const { status, output } = inContainer('validate', path)
    t.equal(status, 0, `${file}: ${output}`)
    const explained = inContainer(
      'explain',
      '-f',
      path,
      'POST',
      '/v1/chat/completions',
      '--model',
      'sim-text',
      '--key',
      KEY,
    )
    t.equal(explained.status, 0, explained.output)
  }
  t.end()
})

/** Pairs of `COPY --from=build` in the Dockerfile. */
function copies(): readonly (readonly [from: string, to: string])[] {
  const found = text('Dockerfile').matchAll(/^COPY --from=build \/src\/(\S+) (\S+)$/gm)
  return [...found].map(([, from = '', to = '']) => [from, to])
}

t.test(
  'the image has what it needs: it serves as a user without rights, from folders that it cannot write to',
  async t => {
    const app = await assemble(t)
    const data = mkdtempSync(join(tmpdir(), 'gateway-data-'))
    t.teardown(() => rmSync(data, { recursive: true, force: true }))
    const file = join(app, 'gateway.yaml')
    const configuration = text('deploy/container.yaml')
      .replaceAll(/port: 808[01]/g, 'port: 0')
      .replace('path: /data', `path: ${data}`)
    writeFileSync(file, configuration)
    const isRoot = process.getuid?.() === 0
    if (isRoot) chownSync(data, USER, USER)
    const before = listing(app)
    const as = isRoot ? { user: USER } : {}
    const served = start(t, ['serve', file], {
      env: ENV,
      cwd: '/',
      bare: true,
      file: join(app, 'bin/gateway.js'),
      ...as,
    })
    const [, origin = ''] = await served.until(/"address":"([^"]+)"/)
    const address = origin.replace('0.0.0.0', '127.0.0.1')
    t.equal((await fetch(`${address}/livez`)).status, 200)
    const body = JSON.stringify({ model: 'sim-text', messages: [{ role: 'user', content: 'hello' }] })
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const answer = await fetch(`${address}/v1/chat/completions`, { method: 'POST', headers, body })
    t.equal(answer.status, 200, await answer.text())
    served.child.kill('SIGTERM')
    t.match(await served.ended, { code: 0 })
    t.same(listing(app), before, 'nothing was written beside the code')
    t.ok(readdirSync(data).length > 0, 'the store is in the data folder')
  },
)

/** The files of the image, in a folder that only its owner may write to. */
async function assemble(t: Test): Promise<string> {
  const app = mkdtempSync(join(tmpdir(), 'gateway-image-'))
  t.teardown(() => {
    chmodSync(app, 0o755)
    rmSync(app, { recursive: true, force: true })
  })
  const all = copies()
  t.ok(all.length >= 8, `${all.length} copies`)
  for (const [from, to] of all) {
    const place = join(app, to)
    mkdirSync(join(place, '..'), { recursive: true })
    // What is installed without development packages is proven by the packed package in CI.
    if (from === 'node_modules') symlinkSync(join(ROOT, from), place)
    else cpSync(join(ROOT, from), from.includes('.json') ? join(app, from) : place, { recursive: true })
  }
  rmSync(join(app, 'dist/compile-cache'), { recursive: true, force: true })
  chmodSync(app, 0o755)
  return app
}

function listing(folder: string): readonly string[] {
  return (readdirSync(folder, { recursive: true, encoding: 'utf8' }) as string[])
    .filter(name => !name.startsWith('node_modules'))
    .filter(name => statSync(join(folder, name)).isFile())
    .sort()
}

t.test('the health check of the image asks a gateway with TLS on another port, where a variable says so', async t => {
  const [, words = ''] = /^HEALTHCHECK [\s\S]*?CMD (\[.*\])$/m.exec(text('Dockerfile')) ?? []
  const [, ...args] = JSON.parse(words) as string[]
  const certificate = join(ROOT, 'test/fixtures/tls/first')
  const tls = `{ cert: ${certificate}.pem, key: ${certificate}.key }`
  const configuration = `version: 1\nlisten: { port: 0, tls: ${tls} }\nstore: { type: memory }\nupstreams: { sim: { kind: simulator } }\n`
  const file = join(t.testdir({ 'gateway.yaml': configuration }), 'gateway.yaml')
  const served = start(t, ['serve', file], { bare: true })
  const [, origin = ''] = await served.until(/listening on (https:\S+)/)
  const check = async (url: string): Promise<number | null> => {
    const child = spawn(process.execPath, args, { env: { HEALTH_URL: url } })
    const [code] = (await once(child, 'close')) as [number | null]
    return code
  }
  t.equal(await check(`${origin}/livez`), 0)
  t.equal(await check(`${origin}/nothing`), 1)
  t.equal(await check(`${origin.replace('https', 'http')}/livez`), 1)
})

t.test('what the build of the image copies is let through to it', t => {
  const allowed = text('.dockerignore')
    .split('\n')
    .flatMap(line => (line.startsWith('!') ? [line.slice(1)] : []))
  for (const name of [
    'src',
    'scripts',
    'docs',
    'console',
    'bin',
    'routes',
    'schemas',
    'simulator',
    'gateway.yaml',
    'package-lock.json',
  ]) {
    t.ok(allowed.includes(name), name)
  }
  t.ok(allowed.includes('deploy/container.yaml'))
  for (const name of readdirSync(ROOT).filter(one => /^tsconfig.*\.json$/.test(one)))
    t.ok(allowed.includes('tsconfig*.json'), name)
  t.end()
})

t.test('the unit of systemd is well formed, and exposes little', t => {
  if (!toolExists('systemd-analyze')) {
    skipped(t, 'systemd-analyze')
    t.end()
    return
  }
  const unit = join(ROOT, 'deploy/gateway.service')
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' })
  t.equal(verified.status, 0, verified.stderr)
  // In tenths: 1.5 of 10.
  const judged = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=15', unit], {
    encoding: 'utf8',
  })
  t.equal(judged.status, 0, judged.stdout.slice(-300))
  console.log(`# MEASURED: ${/Overall exposure level[^\n]*/.exec(judged.stdout)?.[0] ?? 'no exposure level'}`)
  t.end()
})

t.test('the values of the chart fit their schema, and templates use no others', t => {
  const values: Values = yaml('deploy/helm/values.yaml')
  const schema = JSON.parse(text('deploy/helm/values.schema.json')) as object
  const check = new Ajv({ strict: false }).compile(schema)
  t.ok(check(values), JSON.stringify(check.errors))
  t.notOk(check({ ...values, replica: 3 }), 'a wrong name is refused')
  const folder = 'deploy/helm/templates'
  const used = readdirSync(join(ROOT, folder)).flatMap(name => [
    ...text(`${folder}/${name}`).matchAll(/\.Values\.([\w.]+)/g),
  ])
  t.ok(used.length > 20)
  for (const [, path = ''] of used) {
    const found = path
      .split('.')
      .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], values)
    t.not(found, undefined, `.Values.${path}`)
  }
  t.end()
})

interface Manifest {
  readonly kind: string
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: { readonly template?: { readonly spec: { readonly terminationGracePeriodSeconds: number } } }
}

t.test('the plain manifests are those of the chart; their configuration is valid, and a pod has time to drain', t => {
  const manifests = parseAllDocuments(text('deploy/kubernetes/gateway.yaml')).map(one => one.toJS() as Manifest)
  const kinds = manifests.map(({ kind }) => kind).sort()
  t.same(kinds, [
    ...['ConfigMap', 'Deployment', 'NetworkPolicy', 'PodDisruptionBudget'],
    ...['Service', 'Service', 'ServiceAccount'],
  ])
  const folder = t.testdir({
    'gateway.yaml': manifests.find(({ kind }) => kind === 'ConfigMap')?.data?.['gateway.yaml'] ?? '',
  })
  const { status, output } = gateway('validate', join(folder, 'gateway.yaml'))
  t.equal(status, 0, output)
  const pod = manifests.find(({ kind }) => kind === 'Deployment')?.spec?.template?.spec
  const { limits } = parse(readFileSync(join(folder, 'gateway.yaml'), 'utf8')) as {
    limits: { drain: string; drain_delay: string }
  }
  const drain = 2 * Number.parseInt(limits.drain, 10) + Number.parseInt(limits.drain_delay, 10)
  t.ok((pod?.terminationGracePeriodSeconds ?? 0) >= drain + END_SECONDS)
  if (!toolExists('helm')) {
    t.comment('scripts/kubernetes.mjs renders the chart, by the engine of helm')
    t.end()
    return
  }
  const made = spawnSync('helm', ['template', 'model', join(ROOT, 'deploy/helm'), '--kube-version', '1.31.0'], {
    encoding: 'utf8',
  })
  t.equal(made.status, 0, made.stderr)
  t.same(
    parseAllDocuments(made.stdout).map(one => one.toJS()),
    manifests,
  )
  t.end()
})

t.test('the rule for prometheus-adapter serves the metric that the autoscaler of the chart reads', t => {
  const { rules }: { rules: { custom: { seriesQuery: string; name: { as: string } }[] } } = yaml(
    'deploy/prometheus/adapter.values.yaml',
  )
  const [, read = ''] = /metric: \{ name: (\w+) \}/.exec(text('deploy/helm/templates/hpa.yaml')) ?? []
  t.ok(METRICS.some(({ name }) => name === read))
  t.match(rules.custom, [{ seriesQuery: new RegExp(`^${read}\\{`), name: { as: read } }])
  t.end()
})

t.test('the action compares two configurations, and its job has the result', t => {
  const { runs }: { runs: { steps: { name: string; run?: string }[] } } = yaml('action.yml')
  const script = runs.steps.find(({ name }) => name === 'Plan')?.run ?? 'exit 1'
  const folder = t.testdir({
    bin: {
      gateway: `#!/bin/sh\nexec ${process.execPath} ${join(ROOT, 'bin/gateway.js')} "$@"\n`,
      // As gh is where no comment has been written yet.
      gh: '#!/bin/sh\ncase "$*" in *--edit-last*) exit 1 ;; esac\necho "$GH_TOKEN $*" >> "$RUNNER_TEMP/gh.txt"\n',
    },
    'old.yaml': readFileSync(join(ROOT, 'gateway.yaml'), 'utf8'),
    'new.yaml': readFileSync(join(ROOT, 'gateway.yaml'), 'utf8').replace('sim-text:', 'sim-other:'),
  })
  for (const name of ['gateway', 'gh']) chmodSync(join(folder, 'bin', name), 0o755)
  const files = { BASE: join(folder, 'old.yaml'), FILE: join(folder, 'new.yaml'), RUNNER_TEMP: folder }
  const summary = join(folder, 'summary.md')
  const env = { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, ...files, GITHUB_STEP_SUMMARY: summary }
  const compare = (failOn: string, more: object = {}): number | null =>
    spawnSync('bash', ['-e', '-c', script], { env: { ...env, FAIL_ON: failOn, ...more }, encoding: 'utf8' }).status
  t.equal(compare(''), 0)
  t.match(readFileSync(summary, 'utf8'), /sim-other/)
  t.notOk(existsSync(join(folder, 'gh.txt')), 'without a token there is no comment')
  t.equal(compare('unreachable', { GH_TOKEN: 'a-token', PULL_REQUEST: '7' }), 1, 'it fails, and has commented before')
  t.match(readFileSync(join(folder, 'gh.txt'), 'utf8'), /^a-token pr comment 7 --body-file .*plan\.md$/m)
  t.end()
})

interface Step {
  readonly name: string
  readonly run?: string
  readonly if?: string
}

t.test('the action validates, lints and tests, and runs modules of a pull request only if it may', t => {
  const { runs, inputs }: { runs: { steps: Step[] }; inputs: Record<string, { default: string }> } = yaml('action.yml')
  const defaults = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.default]))
  t.match(defaults, { file: 'gateway.yaml', lint: 'true', test: 'true', modules: 'auto' })
  const folder = t.testdir({
    bin: { gateway: '#!/bin/sh\necho "gateway $*"\n' },
    none: {},
    beside: { 'gateway.test.yaml': '' },
    below: { tests: { 'a.test.yaml': '' } },
  })
  chmodSync(join(folder, 'bin/gateway'), 0o755)
  const stepped = (name: string, modules: boolean, where: string): string => {
    const script = runs.steps.find(step => step.name === name)?.run ?? 'exit 1'
    const env = { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, FILE: 'a.yaml', MODULES: String(modules) }
    const ran = spawnSync('bash', ['-eo', 'pipefail', '-c', script], {
      cwd: join(folder, where),
      env,
      encoding: 'utf8',
    })
    t.equal(ran.status, 0, ran.stderr)
    return ran.stdout
  }
  t.equal(stepped('Validate', true, 'none'), 'gateway validate a.yaml --format github\n')
  t.equal(stepped('Validate', false, 'none'), 'gateway validate a.yaml --format github --no-modules\n')
  t.match(stepped('Test', true, 'none'), /^there are no tests/)
  for (const where of ['beside', 'below']) {
    t.match(stepped('Test', true, where), /^gateway test --format github$/m)
    t.notMatch(stepped('Test', false, where), /^gateway test/m)
  }
  t.end()
})

t.test('the action runs commands that exist', t => {
  const { runs }: { runs: { steps: Step[] } } = yaml('action.yml')
  const found = runs.steps.flatMap(({ run = '' }) => [
    ...run.matchAll(/^ *(?:if .*; then |else )?gateway (.+?)(?:; fi)?$/gm),
  ])
  const commands = found.map(([, command = '']) => command).filter(command => !command.startsWith('plan '))
  t.same([...new Set(commands.map(command => command.split(' ')[0]))], ['validate', 'audit', 'fmt', 'lint', 'test'])
  for (const command of commands) {
    const args = command.replace('"$FILE"', join(ROOT, 'gateway.yaml')).split(' ')
    const { status, output } = gateway(...args)
    t.equal(status, 0, `${command}: ${output}`)
  }
  t.end()
})
