"""Fetches the nightly run's code and becomes it: what a bare Python image starts with.

A task has no image of its own, so that none is built. Its code and wheels are one zip in the bucket
of CDK's assets. This uses the standard library alone and is handed to `python -c` as text. It asks
the address in LEAP_CODE, signed with the task's own credentials (AWS Signature Version 4), unpacks
what it gets and replaces itself with `python -m functions.retrain`, or with what LEAP_RUN names: a
module and its arguments, such as a Dask worker of the same code.
"""

import hashlib
import hmac
import http.client
import json
import os
import shlex
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Mapping
from pathlib import Path

MODULE = "functions.retrain"
ATTEMPTS = 4
TIMEOUT_S = 30
TASK_CREDENTIALS = "http://169.254.170.2"
NOTHING = hashlib.sha256(b"").hexdigest()

Keys = tuple[str, str, str]


def main() -> None:
    """Never returns where all goes well."""
    folder = Path(tempfile.mkdtemp(prefix="leap-code-"))
    archive = folder / "code.zip"
    if not fetch(os.environ, archive):
        sys.exit(1)
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    archive.unlink()
    os.chdir(folder)
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONUNBUFFERED": "1"}
    module = shlex.split(os.environ.get("LEAP_RUN", MODULE))
    os.execve(sys.executable, [sys.executable, "-m", *module], environment)


def fetch(environment: Mapping[str, str], path: Path) -> bool:
    """The code into a file, tried several times; whether that went well."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            download(environment, path)
            return True
        except (OSError, http.client.HTTPException) as fault:
            # S3 explains itself in the body, such as which permission is missing.
            why = fault.read(500).decode(errors="replace") if hasattr(fault, "read") else ""
            words = {"service": "retrain", "error": f"no code, attempt {attempt}: {fault} {why}"}
            print(json.dumps(words), flush=True)
        if attempt < ATTEMPTS:
            time.sleep(2**attempt)
    return False


def download(environment: Mapping[str, str], path: Path) -> None:
    """One attempt."""
    url = address(environment)
    keys, region = credentials(environment), environment["AWS_DEFAULT_REGION"]
    asked = urllib.request.Request(url, headers=signed(url, keys, region, time.gmtime()))
    with urllib.request.urlopen(asked, timeout=TIMEOUT_S) as answer, path.open("wb") as file:
        shutil.copyfileobj(answer, file)
        length = answer.headers.get("Content-Length")
        if length is not None and file.tell() != int(length):
            raise OSError("the answer ended early")


def address(environment: Mapping[str, str]) -> str:
    """Where the code is; AWS_ENDPOINT_URL stands in for AWS, as in every AWS library."""
    wanted = environment["LEAP_CODE"]
    endpoint = environment.get("AWS_ENDPOINT_URL")
    return endpoint.rstrip("/") + urllib.parse.urlsplit(wanted).path if endpoint else wanted


def credentials(environment: Mapping[str, str]) -> Keys:
    """Key, secret and token: the environment's, else those of the task's role."""
    if "AWS_ACCESS_KEY_ID" in environment:
        secret, token = environment["AWS_SECRET_ACCESS_KEY"], environment.get("AWS_SESSION_TOKEN")
        return environment["AWS_ACCESS_KEY_ID"], secret, token or ""
    url = TASK_CREDENTIALS + environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"]
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
        found = json.load(answer)
    return found["AccessKeyId"], found["SecretAccessKey"], found["Token"]


def signed(url: str, keys: Keys, region: str, now: time.struct_time) -> dict[str, str]:
    """The headers of a GET from S3, signed (AWS Signature Version 4)."""
    key, secret, token = keys
    parts = urllib.parse.urlsplit(url)
    stamp, day = time.strftime("%Y%m%dT%H%M%SZ", now), time.strftime("%Y%m%d", now)
    headers = {"host": parts.netloc, "x-amz-content-sha256": NOTHING, "x-amz-date": stamp}
    if token:
        headers["x-amz-security-token"] = token
    names = ";".join(sorted(headers))
    listed = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = "\n".join(("GET", parts.path, parts.query, listed, names, NOTHING))
    scope = f"{day}/{region}/s3/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{digest}"
    derived = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        derived = hmac.digest(derived, part.encode(), "sha256")
    signature = hmac.digest(derived, text.encode(), "sha256").hex()
    named = f"Credential={key}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**headers, "authorization": f"AWS4-HMAC-SHA256 {named}"}


if __name__ == "__main__":
    main()
