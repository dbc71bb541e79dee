/**
 * What a person can do about a message of the process: each line that warns has it as `next`. By the message, so that the
 * places which report faults need not know.
 */
const NEXT_STEPS: Readonly<Record<string, string>> = {
  'the store works, but': 'change what `store` says, or look at the store itself; docs/operating.md#stores',
  'the store cannot be used': 'start the store, or mend its address under `store`; it is tried again all the time',
  'a record could not be stored': 'look at the store and its disk; `gateway store check` tries it',
  'receipts cannot be written; they wait in memory':
    'look at `error`, at the folder or store of `receipts`, and its disk; they are written again by themselves',
  'receipts are lost: they could not be written before the end':
    'look at the folder or store of `receipts`; `gateway receipts verify` says what else is missing',
  'the last receipt of the process before is unfinished':
    'nothing, if that process was killed; else run `gateway receipts verify`',
  'upstreams are off': 'set the variables or files that hold their secrets, or remove them from the file',
  'an upstream is off': 'set the variable or file that holds its secret, then reload',
  'a key cannot be used': 'set the variable or file that holds it, then reload',
  'a key of the store is refused: a key of the file has its name': 'give one of the two another name',
  'a key of the store is refused: its terms do not fit the file': 'change the key by the admin API, or the file',
  'an upstream fails and is asked last': 'look at the upstream; `cause` of its requests says how it fails',
  'a stage failed': 'report it, with this line: the request was served without that stage',
  'a WebSocket could not be opened': 'report it, with this line',
  'listener failed': 'look at `error`: the system refuses connections',
  'large requests cannot be stored': 'let the process write to the folder of `spool`, or set spool.path to another one',
  'tasks continue with another credential than the one that started them':
    'list the former secret under previous_secrets of the upstream if they fail',
  'a worker cannot start': 'look at `error`; the others serve, and it is tried again',
  'a worker has ended': 'another one takes its place; look at memory and at the lines before this one',
  'leases of a worker come back within a minute':
    'nothing, if the store is well: until then less of each limit is free',
  'a worker did not take over the new plan': 'nothing: another worker takes its place',
  'the gateway ends': 'look at `error`, then start it again',
  'watching the configuration failed; trying again': 'reload by `gateway reload` or SIGHUP until it works',
  'an upstream refused its credential; reading the secrets again':
    'if it happens again, renew the secret of the upstream',
  'an upstream has no new credential':
    'look at `cause`, and at the token server; requests to that upstream fail when the old credential has ended',
  'a module warns': 'read `cause`: your own module says it',
  'a module failed beside its calls': 'mend the module at that place: await what it begins, and catch its errors',
  'a check fails': 'look at `cause`, and mend the module: `when_it_fails` says what becomes of requests until then',
  'a secret cannot be fetched':
    'look at `cause` and at the manager: what was fetched before serves, and it is tried again; `gateway doctor --try-credentials` asks it',
  'an answer does not fit its schema':
    'look at the upstream that answered, or mend the schema under response_schemas; gateway_response_checks_total counts all',
  'the configuration cannot be fetched; the last one stays':
    'look at `error` and at the server; it is asked again, later each time',
  'the configuration is not kept for starts': 'let the process write to the folder of --cache',
  'the new configuration went back':
    'mend the file, or put the one before back: this one is not tried again until it changes or `gateway reload` asks, but read at the next start; `gateway generations` compares both',
  'reload failed': 'look at `error`, then reload again; the last valid configuration serves',
  'reload failed; the last valid configuration stays':
    'mend the problems that are listed; `gateway validate` shows them',
  'other files or variables have changed since that generation, and are as they are now':
    'put them back too if they belong together; `gateway plan` compares',
  'no admin API, console and metrics: their port is in use':
    'free the port, or name another one under admin.port or by --admin-port',
  'the files are unchanged': 'mend what the warnings name',
  'needs a restart to take effect': 'restart when it suits: `gateway reload --restart`, or start the process anew',
  'the event loop stood still': 'look for large bodies, or a machine that is short of CPU; `workers` uses more cores',
  'overloaded: requests were refused': 'add CPU, memory or `workers`, or lower limits.in_flight',
}

/** What to do next about a warning; undefined where its message says it. */
export function nextStep(message: string): string | undefined {
  return NEXT_STEPS[message]
}

/** @testonly */
export const MESSAGES_WITH_NEXT_STEPS: readonly string[] = Object.keys(NEXT_STEPS)
