// The file system of the image without building it: the base of this machine's packages, and what the last stage of the Dockerfile
// copies, from a checkout that is built.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { shippedPackages } from '../shipped-packages.mjs'
import { writeBase } from './base.mjs'

/** Files that the first stage of the Dockerfile removes, or that a checkout has only after it has served. */
const REMOVED = /\.map$|\.tsbuildinfo$|\/\.bin$|\/dist\/compile-cache$/
/** What the base sets, and where chroot itself is. */
const BASE_ENV = { PATH: '/usr/local/bin:/usr/bin:/usr/sbin:/sbin:/bin' }
const BUILT = '/src/'

/** Writes it below `root`, and returns how it is run. */
export function assemble(root, checkout) {
  writeBase(root)
  const config = { Env: { ...BASE_ENV }, Entrypoint: [], Cmd: [], StopSignal: 'SIGTERM' }
  let folder = '/'
  const steps = {
    ENV: text => {
      const [name, value] = text.split('=')
      config.Env[name] = value
    },
    WORKDIR: text => {
      folder = text
      mkdirSync(join(root, text), { recursive: true })
    },
    COPY: text => {
      const [from, to] = text.replace('--from=build ', '').split(' ')
      const path = from.startsWith(BUILT) ? from.slice(BUILT.length) : from
      const name = to.endsWith('/') ? posix.join(to, posix.basename(path)) : to
      const place = posix.resolve(folder, name)
      const packages = path === 'node_modules' ? shippedPackages(checkout) : [path]
      for (const one of packages) copy(join(checkout, one), join(root, place, one.slice(path.length)))
    },
    RUN: text => execFileSync('chroot', [root, 'sh', '-ec', text], { env: config.Env }),
    USER: text => {
      config.User = text
    },
    STOPSIGNAL: text => {
      config.StopSignal = text
    },
    HEALTHCHECK: text => {
      config.Healthcheck = JSON.parse(text.slice(text.indexOf('[')))
    },
    ENTRYPOINT: text => {
      config.Entrypoint = JSON.parse(text)
    },
    CMD: text => {
      config.Cmd = JSON.parse(text)
    },
    // They describe the image only.
    LABEL: () => undefined,
    VOLUME: () => undefined,
    EXPOSE: () => undefined,
  }
  for (const line of lastStage(readFileSync(join(checkout, 'Dockerfile'), 'utf8'))) {
    const [word, text] = line.split(/ (.*)/s)
    if (steps[word] === undefined) throw new Error(`the Dockerfile has ${word}, which this cannot do`)
    steps[word](text)
  }
  return config
}

function lastStage(dockerfile) {
  const lines = dockerfile
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter(Boolean)
  return lines.slice(lines.findLastIndex(line => line.startsWith('FROM ')) + 1)
}

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true })
  cpSync(from, to, { recursive: true, dereference: true, filter: path => !REMOVED.test(path) })
}
