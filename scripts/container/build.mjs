// Builds the image of the Dockerfile with buildah: no daemon, no namespaces of users, and storage below one folder.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { writeBase } from './base.mjs'

const LOCAL_BASE = 'localhost/gateway-base'
/** Where the first certificates of a Debian image are. */
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

export class Builder {
  #folder

  /** `folder` is writable and its own; removing it removes all images. */
  constructor(folder) {
    this.#folder = folder
  }

  /** Makes the base image that is used in place of a registry's. Returns its name. */
  makeBase() {
    const root = join(this.#folder, 'base')
    writeBase(root)
    const container = this.buildah('from', 'scratch').trim()
    this.buildah('copy', container, root, '/')
    this.buildah('config', '--env', 'PATH=/usr/local/bin:/usr/bin', container)
    this.buildah('commit', '--rm', container, LOCAL_BASE)
    execFileSync('rm', ['-r', root])
    return LOCAL_BASE
  }

  /** Builds the Dockerfile of the folder `context`; `timestamp` is that of all its files, seconds. */
  build(tag, { context, base, timestamp }) {
    // Other formats have no health check. The same inputs give the same image only if nothing is reused and times are fixed.
    this.buildah(
      ...['bud', '--isolation', 'chroot', '--format', 'docker', '--timestamp', String(timestamp), '--tag', tag],
      ...(base === undefined ? [] : ['--build-arg', `BASE=${base}`]),
      ...['--volume', `${this.#npmSettings()}:/root/.npmrc:ro`, '--volume', `${this.#npmCache()}:/root/.npm`, context],
    )
  }

  /** Identifier and configuration of an image. */
  image(tag) {
    const [{ id }] = JSON.parse(this.buildah('images', '--json', tag))
    const { config } = JSON.parse(this.buildah('inspect', '--type', 'image', tag)).Docker
    return { id, config }
  }

  /** Mounts the file system of a new container of an image: its folder. */
  mount(tag) {
    const container = this.buildah('from', tag).trim()
    return this.buildah('mount', container).trim()
  }

  buildah(...args) {
    const where = [
      '--root',
      join(this.#folder, 'storage'),
      '--runroot',
      join(this.#folder, 'run'),
      '--storage-driver',
      'vfs',
    ]
    const limits = { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'pipe'] }
    try {
      return execFileSync('buildah', [...where, ...args], limits)
    } catch (error) {
      throw new Error(`buildah ${args[0]}: ${`${error.stdout}\n${error.stderr}`.trim().slice(-4000)}`)
    }
  }

  /** The steps use the registry that this machine uses. */
  #npmSettings() {
    const path = join(this.#folder, 'npmrc')
    const own = join(homedir(), '.npmrc')
    const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
    const certificates = existsSync(CERTIFICATES) ? `cafile=${CERTIFICATES}\n` : ''
    writeFileSync(path, `${existsSync(own) ? readFileSync(own, 'utf8') : ''}\nregistry=${registry}\n${certificates}`)
    chmodSync(path, 0o600)
    return path
  }

  #npmCache() {
    const path = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim()
    mkdirSync(path, { recursive: true })
    return path
  }
}
