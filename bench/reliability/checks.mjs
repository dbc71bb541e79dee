// Goals that tests and files tell of: a part of the tests runs, and what they say is counted.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { folder } from '../processes.mjs'
import { chat, gateway, root, upstream, yaml } from './stage.mjs'

/** Runs compiled test files one after the other: assertions that held and that did not, and what they printed. */
async function tests(end, files, env = {}) {
  const sum = { passed: 0, failed: 0, text: '' }
  for (const file of files) {
    const child = spawn(process.execPath, [root(`.test-build/test/${file}.test.js`)], {
      cwd: root('.'),
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    end(() => child.kill('SIGKILL'))
    child.stdout.setEncoding('utf8').on('data', part => {
      sum.text += part
    })
    const [code] = await once(child, 'close')
    if (code !== 0) sum.failed++
  }
  sum.passed = (sum.text.match(/^\s*ok \d/gm) ?? []).length
  sum.failed += (sum.text.match(/^\s*not ok \d/gm) ?? []).length
  return sum
}

async function measureConformance(end) {
  const { passed, failed } = await tests(end, ['e2e/sdk'])
  return { figure: `${passed} checks hold, ${failed} do not`, isMet: failed === 0 && passed > 0 }
}

async function measureFuzz(end) {
  const { text, failed } = await tests(end, ['fuzz/json-scan', 'fuzz/multipart', 'fuzz/fast-server'], {
    FUZZ_SECONDS: '1',
  })
  const runs = [...text.matchAll(/([\d,]+) (?:runs|inputs|executions|cases)/g)].map(([, number]) =>
    Number(number.replaceAll(',', '')),
  )
  const sum = runs.reduce((all, one) => all + one, 0)
  return { figure: `${sum} inputs in three fuzzers, ${failed} failures`, isMet: failed === 0 && sum > 0 }
}

/** As a package runs: no child processes, no add-ons but lmdb's, files only where it needs them. */
async function measureSupply(end) {
  const { packages } = JSON.parse(readFileSync(root('package-lock.json'), 'utf8'))
  const own = Object.entries(packages).filter(([path, { dev, devOptional, optional, link }]) => {
    return path.startsWith('node_modules/') && !dev && !devOptional && !optional && !link
  })
  const direct = Object.keys(packages[''].dependencies ?? {}).length
  const scripts = own
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.slice('node_modules/'.length))
  const up = await upstream()
  end(up.close)
  const flags = ['--experimental-permission', '--allow-fs-read=*', `--allow-fs-write=${folder}`, '--allow-worker']
  const major = Number(process.versions.node.split('.')[0])
  if (major >= 24) flags[0] = '--permission'
  const one = await gateway(yaml({ up: up.origin }, '{ m: up }'), { flags })
  end(() => one.end('SIGKILL'))
  const { status } = await chat(one.port, 'm')
  return {
    figure: `${direct} direct and ${own.length} packages in all; install scripts: ${scripts.length === 0 ? 'none' : `${scripts.length} (${scripts.join(', ')}), which need not run`}; without child processes a request is answered with ${status}`,
    isMet: direct <= 10 && own.length <= 30 && status === 200,
  }
}

/** Small changes of a compiled file, and some test has to notice each. */
const MUTANTS = [
  [
    'features/health/circuit.js',
    'features/health/circuit',
    [
      ['this.#failures >= rule.failures', 'this.#failures > rule.failures'],
      ['now < this.#standing.until', 'now > this.#standing.until'],
      ['2 ** openingsBefore', '1'],
      ['this.#failures = rule.failures - 1', 'this.#failures = 0'],
      ['1 + JITTER * random', '1'],
    ],
  ],
  [
    'features/retries/budget.js',
    'features/retries/budget',
    [
      ['+ 1 > Math.max', '> Math.max'],
      ['share * requests', 'requests'],
      ['this.#held++', ''],
      ['step < steps', 'step <= 0'],
    ],
  ],
]

/** Changes are made as modules load, and files stay as they are. */
async function measureMutants(end) {
  const { runMutated } = await import(root('.test-build/test/helpers/mutated.js'))
  let isOver = false
  end(() => {
    isOver = true
  })
  const survived = []
  let all = 0
  for (const [file, test, changes] of MUTANTS) {
    if (isOver) return
    const mutations = changes.map(([from, to]) => [[file, from, to]])
    const [unchanged, ...changed] = await Promise.all([[], ...mutations].map(one => runMutated(test, one)))
    if (unchanged.failed) throw new Error(`${test} fails without a change: ${unchanged.output.slice(-300)}`)
    const missed = changed.find(({ output }) => output.includes('MUTATION MISSED'))
    if (missed !== undefined) throw new Error(missed.output)
    survived.push(...changes.filter((_, at) => !changed[at].failed).map(([from]) => from))
    all += changes.length
  }
  const killed = all - survived.length
  return {
    figure: `${killed} of ${all} noticed${survived.length === 0 ? '' : `; not: ${survived.join(', ')}`}`,
    isMet: killed >= 0.8 * all,
  }
}

export const goals = [
  {
    id: 'G17',
    title: 'official SDKs and the protocols’ documents',
    goal: 'every endpoint of every SDK, every recorded stream',
    how: 'one file of the tests; all: `npm test`, `npm run test:recordings`, `npm run clients`',
    measure: measureConformance,
  },
  {
    id: 'G19',
    title: 'fuzzing',
    goal: '≥ 10,000,000 inputs over 8 targets: 0 uncaught',
    how: 'three fuzzers for a second each; longer: `npm run fuzz`',
    measure: measureFuzz,
  },
  {
    id: 'G27',
    title: 'what is installed',
    goal: '≤ 10 direct and ≤ 30 packages in all, 0 install scripts; runs without child processes',
    how: "the lock file; a gateway under Node's permission model. Provenance and a reproducible package are not measured",
    measure: measureSupply,
  },
  {
    id: 'G28',
    title: 'tests notice changes',
    goal: 'mutation score ≥ 80 % on keys, budgets, streams and translators',
    how: 'nine changes by hand of the breaker and of the budget of retries, not of the named parts, which take hours',
    measure: measureMutants,
  },
]
