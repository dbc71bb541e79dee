// A base image from this machine's own Debian packages, for machines without a registry of images: what node and npm need, and
// Node 22 from npm. It is used in place of node:22-bookworm-slim, and has its layout.
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

const PACKAGES =
  'base-files ca-certificates coreutils dash findutils libacl1 libattr1 libc6 libgcc-s1 libgmp10 libpcre2-8-0 libselinux1 libssl3 libstdc++6'
const LEFT_OUT = /^\/usr\/share\/(?!ca-certificates|base-files)/
const NODE_MAJOR = 22

/** Writes the files of the base below `root`. */
export function writeBase(root) {
  for (const folder of [
    'etc/ssl',
    'usr/bin',
    'usr/sbin',
    'usr/lib',
    'usr/lib64',
    'usr/local/bin',
    'usr/local/lib/node_modules',
  ])
    mkdirSync(join(root, folder), { recursive: true })
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(root, name))
  const listed = run('dpkg', '--listfiles', ...PACKAGES.split(' ')).split('\n')
  for (const path of listed) if (isWanted(path)) copy(path, root)
  run('cp', '-a', '/etc/ssl/certs', join(root, 'etc/ssl'))
  for (const name of ['passwd', 'group'])
    writeFileSync(join(root, 'etc', name), readFileSync(`/usr/share/base-passwd/${name}.master`))
  for (const folder of ['root', 'proc', 'sys', 'dev', 'tmp']) mkdirSync(join(root, folder), { recursive: true })
  writeNode(join(root, 'usr/local'))
}

function isWanted(path) {
  return path.startsWith('/') && !LEFT_OUT.test(path) && existsSync(path) && !lstatSync(path).isDirectory()
}

/** To where it really is: in Debian /lib is /usr/lib. */
function copy(path, root) {
  const to = join(root, realpathSync(dirname(path)), path.slice(dirname(path).length))
  cpSync(path, to, { verbatimSymlinks: true, preserveTimestamps: true })
}

function writeNode(local) {
  const name = `node-linux-${process.arch}`
  const folder = join(local, 'package')
  run('npm', 'install', '--silent', '--no-save', '--no-package-lock', '--prefix', folder, `${name}@${NODE_MAJOR}`)
  cpSync(join(folder, 'node_modules', name, 'bin/node'), join(local, 'bin/node'))
  run('rm', '-r', folder)
  const npm = dirname(dirname(realpathSync(run('which', 'npm').trim())))
  run('cp', '-a', npm, join(local, 'lib/node_modules/npm'))
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'))
}

function run(command, ...args) {
  return execFileSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
}
