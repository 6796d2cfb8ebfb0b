-- A database as version 1 of the schema left it. IDENTITY and BYTES are the backend's words.
CREATE TABLE vramsoak_schema (version BIGINT NOT NULL);
CREATE TABLE vramsoak_runs (
	id          IDENTITY,
	suite       TEXT NOT NULL,
	started     BIGINT NOT NULL,
	host        TEXT NOT NULL,
	digest      TEXT NOT NULL,
	commit_id   TEXT NOT NULL,
	gpu         TEXT NOT NULL,
	driver      TEXT NOT NULL,
	version     TEXT NOT NULL,
	log         TEXT NOT NULL,
	verdict     TEXT NOT NULL,
	files       BIGINT NOT NULL,
	detail      BYTES NOT NULL,
	UNIQUE (suite, started, host, digest)
);
CREATE TABLE vramsoak_values (
	run_id           BIGINT NOT NULL REFERENCES vramsoak_runs (id) ON DELETE CASCADE,
	metric           TEXT NOT NULL,
	statistic        TEXT NOT NULL,
	rank             BIGINT NOT NULL,
	device           BIGINT NOT NULL,
	unit             TEXT NOT NULL,
	higher_is_better BIGINT NOT NULL,
	resolution       DOUBLE PRECISION NOT NULL,
	value            DOUBLE PRECISION NOT NULL,
	PRIMARY KEY (run_id, metric, statistic, rank, device)
);
CREATE TABLE vramsoak_accepted (
	id        IDENTITY,
	run_id    BIGINT NOT NULL REFERENCES vramsoak_runs (id) ON DELETE CASCADE,
	metric    TEXT NOT NULL,
	statistic TEXT NOT NULL,
	rank      BIGINT NOT NULL,
	device    BIGINT NOT NULL,
	step      DOUBLE PRECISION NOT NULL,
	accepted  BIGINT NOT NULL,
	note      TEXT NOT NULL,
	UNIQUE (run_id, metric, statistic, rank, device)
);
INSERT INTO vramsoak_schema (version) VALUES (1);
INSERT INTO vramsoak_runs (suite, started, host, digest, commit_id, gpu, driver, version, log, verdict, files, detail) VALUES
	('nightly', 1788228000000000, 'gpu-1', 'd1', '1a2b3c4', 'NVIDIA H100', '550.54', 'v1', 'a/soak.log', 'pass', 2,
	 CAST('{"suite":"nightly","digest":"d1","baseline":{"schema":"vramsoak.baseline/1","run":{"started":"2026-09-01T02:00:00Z","commit":"1a2b3c4","host":"gpu-1","verdict":"pass"},"files":null,"metrics":[{"name":"peak","unit":"bytes","values":[100,null]}]},"files":2,"checkpoints":4,"peak":{"allocated":100,"reserved":0,"total":0},"findings":[]}' AS BYTES));
INSERT INTO vramsoak_values (run_id, metric, statistic, rank, device, unit, higher_is_better, resolution, value) VALUES
	(1, 'peak', 'median', 0, 0, 'bytes', 0, 0, 100);
INSERT INTO vramsoak_accepted (run_id, metric, statistic, rank, device, step, accepted, note) VALUES
	(1, 'peak', 'worst', 0, 0, 50, 1788228000000000, 'a larger model');
