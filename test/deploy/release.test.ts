import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { packageRoot } from '../../src/core/package-root.js'

/** What is published: the package's files, and what a release makes. */

const ROOT = packageRoot()
const MAX_PACKAGE_BYTES = 8 * 1024 * 1024

interface Packed {
  readonly size: number
  readonly files: readonly { readonly path: string }[]
}

function command(cwd: string, name: string, ...args: string[]): { status: number | null; stdout: string; all: string } {
  const env = { ...process.env, NODE_OPTIONS: '' }
  const { status, stdout, stderr } = spawnSync(name, args, { cwd, env, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  return { status, stdout, all: stdout + stderr }
}

t.test('the package is small, has the console and the documentation, and nothing that is for developers', async t => {
  const { stdout } = command(ROOT, 'npm', 'pack', '--dry-run', '--ignore-scripts', '--json')
  const [{ size, files }] = JSON.parse(stdout) as [Packed]
  console.log(`# MEASURED: the package has ${(size / 1024 / 1024).toFixed(1)} MiB`)
  t.ok(size <= MAX_PACKAGE_BYTES, `${size} bytes`)
  const paths = new Set(files.map(({ path }) => path))
  for (const path of [
    ...['bin/gateway.js', 'dist/index.js', 'dist/index.d.ts', 'dist/contracts/index.d.ts', 'dist/bundle/main.cjs'],
    ...['dist/console/index.html', 'dist/console/licences.txt', 'dist/console/docs/index.html', 'docs/start.md'],
    ...['routes/kinds/openai.yaml', 'schemas/gateway.schema.json', 'simulator/dist/index.js', 'LICENSE', 'README.md'],
    ...['deploy/gateway.service', 'deploy/helm/Chart.yaml'],
  ])
    t.ok(paths.has(path), path)
  const foreign = /^(src|test|bench|scripts|console|data|\.)|\.map$|\.tsbuildinfo$|\.test\.|node_modules|compile-cache/
  t.same(
    [...paths].filter(path => foreign.test(path)),
    [],
  )
})

t.test('the licences of all that browsers load are in the package', async t => {
  const text = readFileSync(join(ROOT, 'dist/console/licences.txt'), 'utf8')
  for (const name of ['preact', 'uplot', 'minisearch', '@codemirror/view'])
    t.match(text, new RegExp(`^${name} \\d`, 'm'))
})

/** A clone whose package script does nothing: what it packs is shown above. */
function clone(t: Test): string {
  const folder = join(t.testdir({}), 'clone')
  t.equal(command(ROOT, 'git', 'clone', '--quiet', '--no-tags', ROOT, folder).status, 0)
  const git = (...args: string[]): unknown => command(folder, 'git', ...args)
  git('config', 'user.email', 'a@b.example')
  git('config', 'user.name', 'A')
  const plain =
    "const f='package.json',p=JSON.parse(require('fs').readFileSync(f));delete p.scripts.prepack;require('fs').writeFileSync(f,JSON.stringify(p,null,2))"
  command(folder, process.execPath, '-e', plain)
  git('commit', '--quiet', '--all', '-m', 'no prepack')
  return folder
}

/** Every version of the gateway that the chart and the plain manifests name. */
function deployed(folder: string): Set<string> {
  const chart = parse(readFileSync(join(folder, 'deploy/helm/Chart.yaml'), 'utf8')) as Record<string, string>
  const plain = readFileSync(join(folder, 'deploy/kubernetes/gateway.yaml'), 'utf8')
  const named = plain.matchAll(
    /(?:image: "model-gateway:|app\.kubernetes\.io\/version: "|helm\.sh\/chart: model-gateway-)([^"\s]+)/g,
  )
  const versions = [...named].map(([, version = '']) => version)
  return new Set([chart.version ?? '', chart.appVersion ?? '', ...versions])
}

t.test('the chart and the plain manifests deploy the version of the package', async t => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  t.same(deployed(ROOT), new Set([version]))
})

t.test('a release writes version, changelog, tag, package, SBOM, licences and digests', async t => {
  const folder = clone(t)
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  const next = version.replace(/\d+$/, last => String(Number(last) + 1))
  const release = (...args: string[]): ReturnType<typeof command> =>
    command(folder, process.execPath, join(ROOT, 'scripts/release.mjs'), ...args)
  const out = join(folder, '..', 'out')

  t.match(release('one').all, 'name a version such as 1.2.0')
  t.match(release(version).all, `${version} is not later than ${version}`)

  t.equal(release(next, '--dry-run', '--to', join(folder, '..', 'dry')).status, 0)
  t.equal(command(folder, 'git', 'status', '--porcelain').stdout, '', 'a dry run changes nothing')

  const { status, all } = release(next, '--to', out)
  t.equal(status, 0, all)
  t.equal(command(folder, 'git', 'describe', '--tags').stdout.trim(), `v${next}`)
  t.match(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8'), new RegExp(`^## Unreleased\n\n## ${next} – \\d{4}-`, 'm'))
  t.match(readFileSync(join(folder, 'README.md'), 'utf8'), `model-gateway-${next}.tgz`)
  t.same(deployed(folder), new Set([next]), 'the chart and the plain manifests deploy this image')
  t.ok(existsSync(join(out, `model-gateway-${next}.tgz`)), readdirSync(out).join())
  const { bomFormat, components, metadata } = JSON.parse(
    readFileSync(join(out, `model-gateway-${next}.cdx.json`), 'utf8'),
  ) as { bomFormat: string; components: { name: string }[]; metadata: { component: { name: string; version: string } } }
  t.equal(bomFormat, 'CycloneDX')
  t.match(metadata.component, { name: 'model-gateway', version: next })
  const names = components.map(({ name }) => name)
  t.ok(names.includes('undici') && !names.includes('tap'), 'what is installed, and nothing else')
  t.match(readFileSync(join(out, `model-gateway-${next}.licences.txt`), 'utf8'), /^undici [\d.]+: MIT$/m)
  t.match(readFileSync(join(out, 'SHA256SUMS'), 'utf8'), `model-gateway-${next}.tgz`)

  t.match(release(next).all, `${next} is not later than ${next}`)
  const later = next.replace(/\d+$/, last => String(Number(last) + 1))
  t.match(release(later, '--to', out).all, 'CHANGELOG.md has nothing under Unreleased')
})

t.test('the workflow that publishes signs where the package was built, and has no other rights', t => {
  interface Step {
    readonly run?: string
  }
  const { on, permissions, jobs } = parse(readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8')) as {
    on: object
    permissions: object
    jobs: { npm: { permissions: object; steps: readonly Step[] } }
  }
  t.same(on, { push: { tags: ['v*'] } })
  t.same(permissions, { contents: 'read' })
  t.same(jobs.npm.permissions, { contents: 'read', 'id-token': 'write' })
  const runs = jobs.npm.steps.flatMap(({ run }) => (run === undefined ? [] : [run]))
  t.match(runs.at(-1), /^npm publish --provenance --access public$/)
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object }
  for (const [, name = ''] of runs.join('\n').matchAll(/npm run ([\w:]+)/g)) t.ok(name in scripts, name)
  // The step that compares tag and version is run unchanged.
  const compare = runs.find(text => text.startsWith('test ')) ?? ''
  const version = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version as string
  for (const [tag, status] of [
    [`v${version}`, 0],
    ['v0.0.0', 1],
  ] as const) {
    const env = { PATH: process.env.PATH, GITHUB_REF_NAME: tag }
    t.equal(spawnSync('sh', ['-c', compare], { cwd: ROOT, env }).status, status, tag)
  }
  t.end()
})
