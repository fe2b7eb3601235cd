from atoll.domain.wall.own_environment import own_environment


def test_no_variable_that_breaks_a_script_comes_along() -> None:
    given = {
        "PATH": "bin:/opt/image/bin:/usr/bin", "HOME": "home", "TMPDIR": "/nowhere", "IFS": "x",
        "GIT_DIR": "/x", "GIT_CONFIG_COUNT": "1", "LD_PRELOAD": "/x", "PYTHONPATH": "/x",
        "HTTPS_PROXY": "http://127.0.0.1:3128",
    }  # fmt: skip
    env = own_environment(given, {"LD_PRELOAD": "/secret", "GIT_DIR": "/secret"})
    assert env["PATH"].startswith("/usr/local/sbin:") and env["PATH"].endswith("/opt/image/bin")
    assert (env["HOME"], env["HTTPS_PROXY"]) == ("/home/agent", "http://127.0.0.1:3128")
    assert not {"TMPDIR", "IFS", "GIT_DIR", "GIT_CONFIG_COUNT", "LD_PRELOAD", "PYTHONPATH"} & set(
        env
    )


def test_ways_of_git_that_the_policy_has_are_counted_anew() -> None:
    policy = {"GIT_CONFIG_COUNT": "4", "GIT_CONFIG_KEY_3": "url.a", "GIT_CONFIG_VALUE_3": "b"}
    env = own_environment({"GIT_CONFIG_KEY_0": "x", "GIT_CONFIG_VALUE_0": "y"}, policy)
    git = {name: value for name, value in env.items() if name.startswith("GIT_")}
    assert git == {
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "url.a", "GIT_CONFIG_VALUE_0": "b",
    }  # fmt: skip
