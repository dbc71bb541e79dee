// A package for Debian and its relatives: node scripts/deb.mjs [FOLDER]   (build first; needs dpkg-deb, and no network)
// It holds the gateway with its dependencies, the hardened unit, and a first configuration. Node comes from the system.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shippedPackages } from './shipped-packages.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Where npm puts what is installed for all users. */
const PLACE = 'usr/lib/node_modules/model-gateway'
const STATE = '/var/lib/gateway'
const run = (command, ...args) =>
  execFileSync(command, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })

const out = resolve(process.argv[2] ?? 'release')
const { version, description } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const architecture = run('dpkg', '--print-architecture').trim()
const stage = mkdtempSync(join(tmpdir(), 'gateway-deb-'))
try {
  copyPackage()
  copyDependencies()
  write('usr/lib/systemd/system/gateway.service', readFileSync(join(ROOT, 'deploy/gateway.service'), 'utf8'))
  write('etc/gateway/gateway.yaml', firstConfiguration())
  mkdirSync(join(stage, 'usr/bin'), { recursive: true })
  symlinkSync(`/${PLACE}/bin/gateway.js`, join(stage, 'usr/bin/gateway'))
  control()
  mkdirSync(out, { recursive: true })
  const file = join(out, `model-gateway_${version}_${architecture}.deb`)
  run('dpkg-deb', '--root-owner-group', '-Zgzip', '--build', stage, file)
  console.log(file)
} finally {
  rmSync(stage, { recursive: true, force: true })
}

/** The files that npm would publish. */
function copyPackage() {
  const [{ files }] = JSON.parse(run('npm', 'pack', '--dry-run', '--ignore-scripts', '--json'))
  for (const { path } of files) copy(path)
}

function copyDependencies() {
  for (const path of shippedPackages(ROOT)) copy(path)
}

function copy(path) {
  const to = join(stage, PLACE, path)
  mkdirSync(dirname(to), { recursive: true })
  cpSync(join(ROOT, path), to, { recursive: true, dereference: true, filter: from => !/\.map$|\/\.bin$/.test(from) })
}

/** The shipped file, with its store where the unit may write. */
function firstConfiguration() {
  const text = readFileSync(join(ROOT, 'gateway.yaml'), 'utf8')
  const changed = text.replace('path: ./data', `path: ${STATE}`).replace('data/keys', `${STATE}/keys`)
  return changed.replace(
    /^# yaml-language-server: .*$/m,
    `# yaml-language-server: $schema=/${PLACE}/schemas/gateway.schema.json`,
  )
}

function control() {
  write(
    'DEBIAN/control',
    `Package: model-gateway
Version: ${version}
Architecture: ${architecture}
Maintainer: Model gateway <maintainers@model-gateway.invalid>
Section: net
Priority: optional
Depends: nodejs (>= 20.19), systemd
Description: ${description.split(':')[0]}
 ${description}
`,
  )
  write('DEBIAN/conffiles', '/etc/gateway/gateway.yaml\n')
  const reload = 'if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi\n'
  write('DEBIAN/postinst', `#!/bin/sh\nset -e\n${reload}`, 0o755)
  const stop = 'if [ -d /run/systemd/system ] && [ "$1" = remove ]; then systemctl stop gateway.service; fi\n'
  write('DEBIAN/prerm', `#!/bin/sh\nset -e\n${stop}`, 0o755)
  write('DEBIAN/postrm', `#!/bin/sh\nset -e\n${reload}`, 0o755)
}

function write(path, text, mode = 0o644) {
  mkdirSync(dirname(join(stage, path)), { recursive: true })
  writeFileSync(join(stage, path), text, { mode })
}
