// Makes a release of the working tree's state:
//   node scripts/release.mjs 1.2.0 [--to FOLDER] [--dry-run]
// It writes the version, closes the changelog's Unreleased section, commits and tags; FOLDER (release/) gets the package, its
// SBOM (CycloneDX), the licences of what it needs, and the digests of all. Nothing is pushed or published: it prints how.
// With --dry-run nothing is committed, and the tree is left as it was.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

/** Licences that a dependency may have. Another one is looked at by a person, who adds it. */
const ACCEPTED = new Set(['MIT', 'Apache-2.0', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'BlueOak-1.0.0'])
/** Files that name the packed file, and those that name the image. */
const NAME_THE_PACKAGE = ['README.md', 'docs/start.md']
const NAME_THE_IMAGE = ['deploy/helm/Chart.yaml', 'deploy/kubernetes/gateway.yaml']
const CHANGED = ['package.json', 'package-lock.json', 'CHANGELOG.md', ...NAME_THE_PACKAGE, ...NAME_THE_IMAGE]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { to: { type: 'string', default: 'release' }, 'dry-run': { type: 'boolean', default: false } },
})
const [version = ''] = positionals
const out = resolve(values.to)

const run = (command, ...args) => execFileSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
const git = (...args) => run('git', ...args).trim()

try {
  release()
} catch (error) {
  console.error(`no release: ${error.message}`)
  process.exitCode = 1
}

function release() {
  const before = JSON.parse(readFileSync('package.json', 'utf8')).version
  check(before)
  let isKept = false
  const originals = CHANGED.map(path => [path, readFileSync(path)])
  try {
    writeVersion(before)
    mkdirSync(out, { recursive: true })
    writeFileSync(join(out, `model-gateway-${version}.licences.txt`), licences())
    writeFileSync(join(out, `model-gateway-${version}.cdx.json`), sbom())
    run('npm', 'pack', '--silent', '--pack-destination', out)
    writeFileSync(join(out, 'SHA256SUMS'), digests())
    isKept = !values['dry-run']
  } finally {
    if (!isKept) for (const [path, content] of originals) writeFileSync(path, content)
  }
  if (isKept) {
    git('commit', '--quiet', '-m', `release: ${version}`, '--', ...CHANGED)
    git('tag', '--annotate', `v${version}`, '-m', changesOf(version))
  }
  console.log(`${version} is in ${out}: ${readdirSync(out).join(', ')}`)
  if (isKept) console.log(`next: git push --follow-tags; npm publish --provenance (in CI, which signs it)`)
}

function check(before) {
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) throw new Error('name a version such as 1.2.0')
  if (!isLater(version, before)) throw new Error(`${version} is not later than ${before}`)
  if (git('status', '--porcelain') !== '' && !values['dry-run']) throw new Error('the working tree has changes')
  if (git('tag', '--list', `v${version}`) !== '') throw new Error(`there is a tag v${version}`)
  if (changesOf('Unreleased') === '') throw new Error('CHANGELOG.md has nothing under Unreleased')
}

function isLater(one, other) {
  const [a, b] = [one, other].map(text => text.split('-')[0].split('.').map(Number))
  const at = a.findIndex((part, index) => part !== b[index])
  return at < 0 ? other.includes('-') : a[at] > b[at]
}

/** What the changelog says below a heading. */
function changesOf(heading) {
  const [, section = ''] = readFileSync('CHANGELOG.md', 'utf8').split(
    new RegExp(`^## ${heading.replaceAll('.', '\\.')}.*$`, 'm'),
  )
  return section.split(/^## /m)[0].trim()
}

function writeVersion(before) {
  const edit = (path, change) => writeFileSync(path, change(readFileSync(path, 'utf8')))
  for (const path of ['package.json', 'package-lock.json'])
    edit(path, text => JSON.stringify(withVersion(JSON.parse(text)), null, 2).concat('\n'))
  const today = new Date().toISOString().slice(0, 10)
  edit('CHANGELOG.md', text => text.replace(/^## Unreleased$/m, `## Unreleased\n\n## ${version} – ${today}`))
  for (const path of NAME_THE_PACKAGE)
    edit(path, text => text.replaceAll(`model-gateway-${before}.tgz`, `model-gateway-${version}.tgz`))
  for (const path of NAME_THE_IMAGE) edit(path, text => withImage(text, before))
}

/** The chart's version and its image's are the package's own, and the plain manifests have the same in labels. */
function withImage(text, before) {
  const old = before.replaceAll('.', '\\.')
  const changed = text.replaceAll(new RegExp(`(?<=ersion: "?|model-gateway[:-])${old}(?="?$)`, 'gm'), version)
  if (changed === text) throw new Error(`${before} is not in the deployment files`)
  return changed
}

function withVersion(file) {
  if (file.packages?.[''] !== undefined) file.packages[''].version = version
  return { ...file, version }
}

/** What is installed with the package, by the lock file. */
function dependencies() {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  return Object.entries(packages)
    .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && dev !== true && link !== true)
    .map(([path, { version: its, license }]) => ({ name: path.split('node_modules/').at(-1), version: its, license }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

function licences() {
  const all = dependencies()
  const unknown = all.filter(({ license }) => !ACCEPTED.has(license))
  if (unknown.length > 0)
    throw new Error(`look at these licences: ${unknown.map(({ name, license }) => `${name} ${license}`).join(', ')}`)
  return all.map(({ name, version: its, license }) => `${name} ${its}: ${license}\n`).join('')
}

function sbom() {
  const text = run('npm', 'sbom', '--package-lock-only', '--omit', 'dev', '--sbom-format', 'cyclonedx')
  const document = JSON.parse(text)
  // npm takes the folder's name.
  document.metadata.component.name = 'model-gateway'
  return `${JSON.stringify(document, null, 2)}\n`
}

function digests() {
  const digest = name =>
    createHash('sha256')
      .update(readFileSync(join(out, name)))
      .digest('hex')
  return readdirSync(out)
    .filter(name => name.startsWith(`model-gateway-${version}.`))
    .sort()
    .map(name => `${digest(name)}  ${name}\n`)
    .join('')
}
