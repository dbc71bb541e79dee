/** Tables and functions of accounts and their ledger, instead of the counters and ledgers of the first schema. */
export const ACCOUNT_MIGRATION: readonly string[] = [
  'DROP FUNCTION counter_settle, counter_reserve, counter_keep, counter_open',
  'DROP TABLE counter_items, counters, ledger_entries, ledgers',

  `CREATE TABLE accounts (
    name text COLLATE "C" PRIMARY KEY,
    spent bigint NOT NULL,
    held bigint NOT NULL,
    expires double precision NOT NULL
  ) WITH (fillfactor = 70)`,
  'CREATE INDEX accounts_expiry ON accounts (expires)',
  // Changed by those alone that have locked the account.
  `CREATE TABLE account_leases (
    account text COLLATE "C" NOT NULL REFERENCES accounts ON DELETE CASCADE,
    lease text COLLATE "C" NOT NULL,
    held bigint NOT NULL,
    until double precision NOT NULL,
    PRIMARY KEY (account, lease)
  )`,
  'CREATE INDEX account_leases_until ON account_leases (until)',
  `CREATE TABLE account_writers (
    writer text COLLATE "C" PRIMARY KEY,
    number bigint NOT NULL,
    remembered double precision NOT NULL
  )`,
  'CREATE INDEX account_writers_remembered ON account_writers (remembered)',
  'CREATE TABLE ledger_days (day text COLLATE "C" PRIMARY KEY, last bigint NOT NULL) WITH (fillfactor = 70)',

  // Entries of a day are a table of their own, so that a day is dropped at once however many it has. They are not
  // partitions of one table: a query that reads that table for long would hold up the drop, and behind it every commit.
  `CREATE FUNCTION ledger_table(which text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'ledger_' || replace(which, '-', '_')
  $$`,
  // The row of the day is locked until the entries are committed: no number is seen before those below it.
  `CREATE FUNCTION ledger_append(which text, contents bytea[]) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    many bigint := cardinality(contents);
    final bigint;
  BEGIN
    INSERT INTO ledger_days AS d VALUES (which, many)
    ON CONFLICT (day) DO UPDATE SET last = d.last + many RETURNING d.last INTO final;
    IF final = many THEN
      EXECUTE format('CREATE TABLE %I (sequence bigint PRIMARY KEY, value bytea NOT NULL)', ledger_table(which));
    END IF;
    EXECUTE format('INSERT INTO %I SELECT $1 + n, content FROM unnest($2) WITH ORDINALITY AS c (content, n)',
      ledger_table(which)) USING final - many, contents;
  END $$`,
  `CREATE FUNCTION ledger_read(which text, behind bigint, most bigint)
  RETURNS TABLE (sequence bigint, value bytea) LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN QUERY EXECUTE format('SELECT e.sequence, e.value FROM %I e WHERE e.sequence > $1 ORDER BY 1 LIMIT $2',
      ledger_table(which)) USING behind, most;
  EXCEPTION WHEN undefined_table THEN
    RETURN;
  END $$`,
  `CREATE FUNCTION ledger_drop(which text) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    DELETE FROM ledger_days d WHERE d.day = which;
    IF FOUND THEN
      EXECUTE format('DROP TABLE %I', ledger_table(which));
    END IF;
  END $$`,

  // Locks are taken in one order by all: the writer, its accounts by their names, the days.
  `CREATE FUNCTION account_commit(
    who text, numbered bigint, known_until double precision, at double precision,
    names text[], leases text[], ends double precision[], bounds bigint[], spends bigint[], holds bigint[],
    untils double precision[], days text[], contents bytea[]
  ) RETURNS TABLE (spent bigint, held bigint, lease bigint) LANGUAGE plpgsql AS $$
  DECLARE
    which text;
  BEGIN
    INSERT INTO account_writers AS w VALUES (who, numbered, known_until)
    ON CONFLICT (writer) DO UPDATE SET number = excluded.number, remembered = excluded.remembered
    WHERE w.number < excluded.number;
    IF NOT FOUND THEN
      RETURN QUERY
        SELECT coalesce(a.spent, 0), coalesce((
          SELECT sum(l.held)::bigint FROM account_leases l WHERE l.account = a.name AND l.until > at
        ), 0), coalesce((
          SELECT l.held FROM account_leases l WHERE l.account = a.name AND l.lease = c.lease AND l.until > at
        ), 0)
        FROM unnest(names, leases) WITH ORDINALITY AS c (name, lease, n)
        LEFT JOIN accounts a ON a.name = c.name AND a.expires > at ORDER BY c.n;
      RETURN;
    END IF;
    INSERT INTO accounts AS a SELECT c.name, 0, 0, max(c.until) FROM unnest(names, ends) AS c (name, until)
    GROUP BY c.name ORDER BY c.name COLLATE "C"
    ON CONFLICT (name) DO UPDATE SET spent = 0 WHERE false;
    FOR i IN 1 .. cardinality(names) LOOP
      RETURN QUERY SELECT * FROM account_change(
        names[i], leases[i], at, ends[i], bounds[i], spends[i], holds[i], untils[i]);
    END LOOP;
    FOR which IN SELECT DISTINCT day COLLATE "C" FROM unnest(days) AS day ORDER BY 1 LOOP
      PERFORM ledger_append(which, (
        SELECT array_agg(c.content ORDER BY c.n)
        FROM unnest(days, contents) WITH ORDINALITY AS c (day, content, n) WHERE c.day = which
      ));
    END LOOP;
  END $$`,
  // One lease of an account that is locked.
  `CREATE FUNCTION account_change(
    which text, who text, at double precision, ends double precision, bound bigint, spend bigint, hold bigint,
    held_until double precision
  ) RETURNS TABLE (spent bigint, held bigint, lease bigint) LANGUAGE plpgsql AS $$
  DECLARE
    a accounts;
    before bigint;
    kept bigint;
    fallen bigint;
  BEGIN
    SELECT * INTO a FROM accounts WHERE name = which;
    IF a.expires <= at THEN
      DELETE FROM account_leases l WHERE l.account = which;
      a.spent := 0;
      a.held := 0;
      a.expires := ends;
    ELSE
      WITH gone AS (DELETE FROM account_leases l WHERE l.account = which AND l.until <= at RETURNING l.held)
      SELECT coalesce(sum(g.held), 0) INTO fallen FROM gone g;
      a.held := a.held - fallen;
      a.expires := greatest(a.expires, ends);
    END IF;
    SELECT l.held INTO before FROM account_leases l WHERE l.account = which AND l.lease = who;
    before := coalesce(before, 0);
    kept := greatest(0, before - spend);
    a.spent := a.spent + spend;
    a.held := a.held - before;
    kept := least(hold, kept + greatest(0, bound - a.spent - a.held - kept));
    a.held := a.held + kept;
    IF kept > 0 THEN
      INSERT INTO account_leases AS l VALUES (which, who, kept, held_until)
      ON CONFLICT ON CONSTRAINT account_leases_pkey DO UPDATE SET held = excluded.held, until = excluded.until;
    ELSIF before > 0 THEN
      DELETE FROM account_leases l WHERE l.account = which AND l.lease = who;
    END IF;
    UPDATE accounts SET spent = a.spent, held = a.held, expires = a.expires WHERE name = which;
    RETURN QUERY SELECT a.spent, a.held, kept;
  END $$`,
  // Gives back what leases held that have ended. Accounts that a commit works on are passed over: it does the same.
  `CREATE FUNCTION account_release(at double precision, most bigint) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    locked text[];
    released bigint;
  BEGIN
    SELECT array_agg(l.name) INTO locked FROM (
      SELECT a.name FROM accounts a
      WHERE a.name IN (SELECT l.account FROM account_leases l WHERE l.until <= at LIMIT most)
      ORDER BY a.name FOR UPDATE SKIP LOCKED
    ) l;
    WITH gone AS (
      DELETE FROM account_leases l WHERE l.account = ANY (locked) AND l.until <= at RETURNING l.account, l.held
    ), sums AS (
      SELECT g.account, sum(g.held) AS held, count(*) AS leases FROM gone g GROUP BY g.account
    ), kept AS (
      UPDATE accounts a SET held = a.held - s.held FROM sums s WHERE a.name = s.account RETURNING s.leases
    )
    SELECT coalesce(sum(k.leases), 0) INTO released FROM kept k;
    RETURN released;
  END $$`,
]
